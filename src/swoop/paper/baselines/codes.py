"""The algorithms as numbers, and what their kernels ask for beyond what the engine's do."""

from __future__ import annotations

BASE, SCASE, STATIC, NOINDEX, NOINCREMENT, NOOPT = range(1, 7)
BASELINES = {
    "base": BASE,
    "scase": SCASE,
    "static": STATIC,
    "swoop-noindex": NOINDEX,
    "swoop-noincrement": NOINCREMENT,
    "swoop-noopt": NOOPT,
}
GROW_STATIC, GROW_MET = 100, 101
