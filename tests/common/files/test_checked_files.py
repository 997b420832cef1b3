"""Files with a checksum: what is read is what was written, or an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from autodiff_compiler.common.files.checked_files import read_checked, write_checked


@pytest.mark.parametrize("body", [b"", b"one\ntwo\n", bytes(range(256))])
def test_what_was_written_is_read(tmp_path: Path, body: bytes) -> None:
    path = tmp_path / "new" / "folder" / "file"
    for content in (b"before", body):
        write_checked(path, content)
    assert read_checked(path) == body and [*path.parent.iterdir()] == [path]


def test_any_damage_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_checked(path, b"twelve bytes")
    intact = path.read_bytes()
    bits = [intact[:k] + bytes([intact[k] ^ 1]) + intact[k + 1 :] for k in range(len(intact))]
    cuts = [intact[:k] for k in range(len(intact))]
    for content in (*bits, *cuts, intact + b"\0", b"\n", b"twelve bytes"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="checksum"):
            read_checked(path)
    with pytest.raises(OSError):
        read_checked(tmp_path / "missing")
