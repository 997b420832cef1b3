"""Reverse mode: the reverse sweep of a function, split into a forward and a backward function.

cotangents           the cotangents of values, region by region
partition            the values that the backward function reads of the forward one (residuals)
rematerialization    values that backward computes again in place of saving them
element_residuals    items of arrays that change in a loop, saved in place of the arrays
branches_and_calls   reverse rules of ``if`` and ``call``, of containers and lists
loops                reverse rules of ``for`` and ``while``
checkpointing        reverse rule of a loop that saves few of its states
custom_rules         derivatives that the user defines
zero_wins            derivatives in which 0 times infinity is 0
sweep                the sweep over operations; gradients and forward/backward pairs of functions
"""
