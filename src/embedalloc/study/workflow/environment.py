"""The environment of the jobs: variables that could change their numbers are taken away here."""

import os
from collections.abc import MutableMapping

#: How names begin of variables that tell Python and the libraries how to compute or to draw. What
#: a user sets there is meant for other programs: `NUMBA_DISABLE_JIT`, say, changes sums.
STEERING = (
    *("PYTHON", "NUMBA_", "NPY_", "NUMPY_", "MPL", "MATPLOTLIB"),
    *("OMP_", "GOMP_", "KMP_", "OPENBLAS_", "GOTO_", "MKL_", "BLIS_", "VECLIB_", "NUMEXPR_"),
    *("TORCH", "PYTORCH_", "ATEN_", "DNNL_", "ONEDNN_"),
)
#: Those that say where things are and not how to compute.
PLACES = (
    *("PYTHONPATH", "PYTHONHOME", "PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE"),
    *("PYTHONNOUSERSITE", "MPLCONFIGDIR"),
)
#: Those that choose the code of another processor, with its last bits; `make verify` uses them.
KERNELS = (
    *("OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"),
    "ATEN_CPU_CAPABILITY",
)


def forget_steering(environment: MutableMapping[str, str] = os.environ) -> None:
    """Remove what would steer the jobs' libraries; Snakemake itself sets the numbers of threads."""
    for name in list(environment):
        if name.startswith(STEERING) and name not in (*PLACES, *KERNELS):
            del environment[name]
