"""The C target: functions of the compiler as C11 source."""
