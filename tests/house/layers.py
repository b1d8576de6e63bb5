# SPDX-License-Identifier: MIT
"""Which folder of src/ may include which: cmake/layers.txt, which the build reads too."""
import re
from pathlib import Path

LAYERS = Path(__file__).resolve().parents[2] / "cmake/layers.txt"


def read(text):
    """What each folder may know, and the pairs that do not know each other."""
    below, strangers = {}, []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.partition("#")[0].strip()
        if layer := re.fullmatch(r"(\w+):((?: \w+)*)", line):
            below[layer[1]] = set(layer[2].split())
        elif pair := re.fullmatch(r"(\S+) x (\S+)", line):
            strangers.append({pair[1], pair[2]})
        elif line:
            raise ValueError(f"{LAYERS.name}:{number}: {line}")
    return below, strangers


BELOW, STRANGERS = read(LAYERS.read_text())


def forbidden(includer, included):
    """Why src/`includer` must not include "`included`", or None. main.cc may include everything."""
    if "/" not in includer or "/" not in included:
        return None
    above, below = includer.split("/")[0], included.split("/")[0]
    if above not in BELOW:
        return f"src/{above} has no place in the layers: cmake/layers.txt"
    if below in BELOW and below != above and below not in BELOW[above]:
        return f"{above} must not include {included}"
    pair = {"/".join(includer.split("/")[:2]), "/".join(included.split("/")[:2])}
    if pair in STRANGERS:
        return f"{' and '.join(sorted(pair))} do not know each other"
    return None
