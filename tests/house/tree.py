# SPDX-License-Identifier: MIT
"""The files that the rules look at: what git knows or would add, or every file of a folder (in tests)."""
import re
import subprocess
from functools import cached_property
from pathlib import Path, PurePosixPath

# Brought in from elsewhere as they are, with a style of their own.
FOREIGN = ("tests/pcaps/", "tests/conformance/kit/", "tests/conformance/cases/",
           "tests/conformance/conftest.py", "tests/conformance/test_conformance.py", "LICENSE")


class Tree:
    def __init__(self, root, names=None):
        self.root = Path(root)
        self.names = sorted(names if names is not None else
                            [str(p.relative_to(root)) for p in self.root.rglob("*") if p.is_file()])
        self.own = [name for name in self.names if not name.startswith(FOREIGN)]
        self.texts = {}

    @classmethod
    def of_git(cls, root):
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                                cwd=root, check=True, capture_output=True, text=True).stdout
        return cls(root, [name for name in listed.split("\0") if name and (Path(root) / name).is_file()])

    def text(self, name):
        if name not in self.texts:
            self.texts[name] = (self.root / name).read_text(errors="replace")
        return self.texts[name]

    def lines(self, name):
        return self.text(name).splitlines()

    def code(self, name):
        """(number, line) of a C++ file without its comments and the contents of its strings."""
        blank = re.sub(r'R"(\w*)\(.*?\)\1"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', keep_lines, self.text(name),
                       flags=re.DOTALL)
        return list(enumerate(blank.splitlines(), 1))

    def includes(self, name):
        """(number, path) of each #include "path"."""
        for number, line in enumerate(self.lines(name), 1):
            match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if match:
                yield number, match[1]

    @cached_property
    def cpp(self):
        return [name for name in self.own if name.endswith((".h", ".cc"))]

    @cached_property
    def sources(self):
        """Everything that people write as code, scripts included."""
        return [name for name in self.own if PurePosixPath(name).suffix in (".h", ".cc", ".py", ".sh", ".cmake")
                or PurePosixPath(name).name in ("CMakeLists.txt", "Makefile") or self.is_script(name)]

    def is_script(self, name):
        return "." not in PurePosixPath(name).name and self.text(name).startswith("#!")

    @cached_property
    def readmes(self):
        return [name for name in self.own if PurePosixPath(name).name == "README.md"]


def keep_lines(match):
    return "\n" * match[0].count("\n") or " "
