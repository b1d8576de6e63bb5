# SPDX-License-Identifier: MIT
"""Which folder of src/ may include which: the same order as fairlead_check_layers() in cmake/fairlead.cmake."""

BELOW = {
    "base": set(),
    "core": set(),                                   # not even base: it is compiled for the kernel too
    "bpf": {"core"},
    "tables": {"base", "core"},
    "backend": {"base", "core", "bpf"},
    "engine": {"base", "core", "bpf", "tables"},
    "control": {"base", "core", "tables", "engine"},
    "operator": {"base", "core", "tables", "control", "backend"},
}
STRANGERS = [{"engine/xdp", "engine/user"}, {"control/config", "control/health"},
             {"control/config", "control/bgp"}, {"control/health", "control/bgp"}]


def forbidden(includer, included):
    """Why src/`includer` must not include "`included`", or None. main.cc may include everything."""
    if "/" not in includer or "/" not in included:
        return None
    above, below = includer.split("/")[0], included.split("/")[0]
    if above not in BELOW:
        return f"src/{above} has no place in the layers: tests/house/layers.py"
    if below in BELOW and below != above and below not in BELOW[above]:
        return f"{above} must not include {included}"
    pair = {"/".join(includer.split("/")[:2]), "/".join(included.split("/")[:2])}
    if pair in STRANGERS:
        return f"{' and '.join(sorted(pair))} do not know each other"
    return None
