# SPDX-License-Identifier: MIT
"""The house rules. Each takes a Tree and yields what breaks it, as "file:line: what"; its name and its
docstring are the rule. A rule here needs a bad example in examples.py, which shows that it can fail."""
import re
import shutil
import subprocess
import warnings
from pathlib import PurePosixPath

from layers import forbidden

RULES = []


def rule(function):
    RULES.append(function)
    return function


# --- size and layout --------------------------------------------------------------------------------

@rule
def files_are_at_most_600_lines(tree):
    """About 150 lines, 400 is much (a warning), 600 the end."""
    for name in tree.sources:
        length = len(tree.lines(name))
        if length > 600:
            yield f"{name}: {length} lines; is there a second room in it?"
        elif length > 400:
            warnings.warn(f"{name} has {length} lines: 400 is much, 600 the end", stacklevel=1)


@rule
def lines_are_at_most_100_columns(tree):
    """C++ 100 columns; 120 in Python and shell, where words are long and nesting is shallow."""
    for name in tree.sources:
        limit = 100 if name.endswith((".h", ".cc")) else 120
        for number, line in enumerate(tree.lines(name), 1):
            if len(line) > limit and "http" not in line:
                yield f"{name}:{number}: {len(line)} columns"


@rule
def format_is_that_of_clang_format_19(tree):
    """`make format` lays it out."""
    tool = shutil.which("clang-format-19")
    assert tool, "clang-format-19 is missing: packaging/install-dependencies.sh"
    if tree.cpp:
        run = subprocess.run([tool, "--dry-run", "-Werror", "--style=file", *tree.cpp], cwd=tree.root,
                             capture_output=True, text=True)
        found = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error:", run.stderr, flags=re.MULTILINE)))
        yield from (f"{name}: make format" for name in found)
        if run.returncode and not found:
            yield run.stderr


@rule
def the_first_line_is_the_licence(tree):
    """SPDX first, after a #! line; BPF programs and their headers may say "MIT OR GPL-2.0-only", all else is MIT."""
    for name in tree.sources:
        lines = tree.lines(name)
        first = next((line for line in lines[:2] if not line.startswith("#!")), "")
        licence = "MIT OR GPL-2.0-only" if name.endswith(".bpf.cc") else "MIT"
        also = "( OR GPL-2.0-only)?" if name.endswith(".h") else ""
        if not re.fullmatch(rf"(//|#) SPDX-License-Identifier: {licence}{also}", first):
            yield f"{name}:1: the first line must be SPDX-License-Identifier: {licence}"


@rule
def headers_open_with_prose_and_pragma_once(tree):
    """What it is, the idea, invariants, threads; then #pragma once and no include guard."""
    for name in tree.cpp:
        if not name.endswith(".h"):
            continue
        lines = tree.lines(name)
        if len(lines) < 2 or not re.match(r"// \S", lines[1]):
            yield f"{name}:2: a header opens with prose"
        if "#pragma once" not in lines:
            yield f"{name}: no #pragma once"


@rule
def comments_are_no_banners(tree):
    """A heading that needs a row of signs wants a file of its own."""
    for name in tree.cpp:
        for number, line in enumerate(tree.lines(name), 1):
            if re.match(r"\s*(//|/\*)\s*[-=*#/~_]{4,}", line):
                yield f"{name}:{number}: banner"


# --- who may know whom --------------------------------------------------------------------------------

@rule
def includes_go_one_way(tree):
    """base <- core <- tables <- engine <- control <- operator <- main, and siblings that stay strangers."""
    for name in tree.cpp:
        if name.startswith("src/"):
            for number, path in tree.includes(name):
                why = forbidden(name.removeprefix("src/"), path)
                if why:
                    yield f"{name}:{number}: {why}"


@rule
def includes_are_relative_to_src(tree):
    """"core/records.h", never "../records.h" or "records.h"; generated headers are BPF objects and the version."""
    for name in tree.cpp:
        for number, path in tree.includes(name):
            generated = path.endswith(".bpf.h") or path == "base/version.h"
            roots = ("src", "include") if name.startswith(("src/", "include/")) else ("src", "include", ".")
            if not generated and (".." in path or not any((tree.root / root / path).is_file() for root in roots)):
                yield f"{name}:{number}: no such file below src/: {path}"


@rule
def the_core_has_no_conditionals(tree):
    """A difference between targets is a type; only FAIRLEAD_WIRE_ALIGNMENT has a default."""
    for name in tree.cpp:
        if not name.startswith("src/core/"):
            continue
        for number, line in tree.code(name):
            if re.match(r"\s*#\s*(if|ifdef|ifndef|elif|else)\b", line) and "FAIRLEAD_WIRE_ALIGNMENT" not in line:
                yield f"{name}:{number}: {line.strip()}"


@rule
def every_source_is_built(tree):
    """A test that no CMakeLists.txt names never runs."""
    lists = [name for name in tree.own if PurePosixPath(name).name == "CMakeLists.txt"]
    for name in tree.cpp:
        if not name.endswith(".cc"):
            continue
        path = PurePosixPath(name)
        near = [one for one in lists if path.is_relative_to(PurePosixPath(one).parent)]
        # Other folders may build a file by its path; its own and those above by its name.
        if not any(re.search(rf"(?<![\w.-]){re.escape(path.name)}(?![\w.-])", tree.text(one)) for one in near):
            yield f"{name}: no CMakeLists.txt names it"


# --- what the code must not do ------------------------------------------------------------------------

BANNED = {
    r"\b(std::)?system\s*\(": "system() runs a shell: use posix_spawn or netlink",
    r"\b(strcpy|strcat|sprintf|vsprintf|gets)\s*\(": "writes past the end: use std::string or fmt",
    r"(?<![\w.:])(rand|srand)\s*\(|\bstd::s?rand\s*\(": "use <random> with a seed that a test can set",
    r"\b(atoi|atol|atof|strtok)\s*\(": "cannot say that the text is wrong: use std::from_chars",
    r"\busing\s+namespace\s+std\s*;": "write the names",
    r"\bstd::endl\b": "flushes: write '\\n'",
}
TO_THE_SCREEN = r"\bstd::c(out|err)\b|(?<![\w.])printf\s*\(|\bfmt::print\s*\("


@rule
def no_banned_calls(tree):
    """What invites mistakes, and writing to the screen from what is not a command."""
    for name in tree.cpp:
        for number, line in tree.code(name):
            for pattern, why in BANNED.items():
                if re.search(pattern, line):
                    yield f"{name}:{number}: {line.strip()}: {why}"
            speaks = (name.startswith(("src/operator/cli/", "bench/")) or name.endswith(("main.cc", "_bench.cc"))
                      or name == "src/base/check.cc")      # the last words of a program that is wrong
            if not speaks and re.search(TO_THE_SCREEN, line):
                yield f"{name}:{number}: {line.strip()}: only commands write to the screen; else use base/log.h"


@rule
def no_path_of_one_machine(tree):
    """The tree works wherever it is checked out, for whoever does it."""
    for name in tree.own:
        for number, line in enumerate(tree.lines(name), 1):
            if re.search(r"(?<![\w.$}/])/(work|root|home)/\w", line):
                yield f"{name}:{number}: {line.strip()[:80]}"


# --- documentation ------------------------------------------------------------------------------------

@rule
def every_folder_has_a_short_readme(tree):
    """What it is and the reading order, in at most 60 lines."""
    folders = {PurePosixPath(name).parent for name in tree.own}
    folders |= {parent for folder in folders for parent in folder.parents}
    for folder in sorted(folders):
        if any(part.startswith(".") or part == "corpus" for part in folder.parts):
            continue                     # settings of tools, seeds of fuzzers
        if f"{folder}/README.md".removeprefix("./") not in tree.names:
            yield f"{folder}: no README.md"
    for name in tree.readmes:
        if len(tree.lines(name)) > 60:
            yield f"{name}: {len(tree.lines(name))} lines"


@rule
def documented_make_targets_exist(tree):
    """Every `make X` in a Markdown file is a target of the Makefile."""
    targets = set(re.findall(r"^([a-z][\w-]*):", tree.text("Makefile") if "Makefile" in tree.names else "",
                             flags=re.MULTILINE))
    for name in (name for name in tree.own if name.endswith(".md")):
        for number, line in enumerate(tree.lines(name), 1):
            for target in re.findall(r"(?:^\s*(?:\$ |# )?|`)make ([a-z][\w-]*)", line):
                if target not in targets:
                    yield f"{name}:{number}: the Makefile has no target {target}"


@rule
def links_between_documents_lead_somewhere(tree):
    """Relative links in Markdown name files that exist."""
    for name in (name for name in tree.own if name.endswith(".md")):
        for number, line in enumerate(tree.lines(name), 1):
            for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", line):
                if "://" not in target and not (tree.root / name).parent.joinpath(target).exists():
                    yield f"{name}:{number}: {target} does not exist"


@rule
def every_dependency_has_its_reason(tree):
    """packaging/dependencies.txt says why in a word or two, and decision 0001 names each package."""
    names = ("packaging/dependencies.txt", "docs/decisions/0001-dependencies.md")
    listed, told = (tree.text(name) if name in tree.names else "" for name in names)
    for number, line in enumerate(listed.splitlines(), 1):
        package = line.partition("#")[0].strip()
        if package and not package.startswith("["):
            if not line.partition("#")[2].strip():
                yield f"{names[0]}:{number}: {package}: no reason"
            if not re.search(rf"(?<![\w+.-]){re.escape(package)}(?![\w+-])", told):
                yield f"{names[1]}: does not speak of {package}"
