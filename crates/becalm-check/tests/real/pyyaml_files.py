# Files of YAML that PyYAML reads, each as a line of JSON: written in all of its forms, and then with a few letters changed.
# How many, and a seed.
import json
import random
import sys

import yaml

many, seed = int(sys.argv[1]), int(sys.argv[2])
draw = random.Random(seed)

WORDS = ["a", "retries", "b c", "é", "1", "0x1f", "yes", "~", "null", "2001-01-01", "a-b", "x:y", "a#b", "-1", ".5", "日本", "a.b/c", "=", "<", "%x"]
TAGS = ["", "", "", "", "!!str ", "!x ", "!<tag:y> ", "!!seq ", "! "]
COMMENTS = ["", "", "", " # c", "\t# c", "  #", " # {{ x }}"]


def scalar():
    word = draw.choice(WORDS)
    return draw.choice([
        word, word, f"'{word}'", f'"{word}"', "'it''s'", '"\\t\\u00e9\\x41\\\n   b"', "''", '""', '"a\\/b"', "'a\n\n   b'", '"a\n\n   b\n   "', f"{word}\n   more",
    ])


def flow(depth):
    kind = draw.randrange(6 if depth else 3)
    if kind < 3:
        word = draw.choice(["a", "1", "'x'", '"y"', "b c", "é", '""'])
        return draw.choice(["", "", "", "!!str ", "!x "]) + word
    space = draw.choice(["", " ", "\n     ", " # c\n     "])
    inner = [flow(depth - 1) for _ in range(draw.randrange(4))]
    end = draw.choice(["", ""]) if not inner else draw.choice(["", ",", " ,"])
    if kind == 3:
        return "[" + space + ("," + (space or " ")).join(inner) + end + space + "]"
    if kind == 4:
        keys = [draw.choice(["a: ", "b: ", "'c':", '"d":', "? e : ", "f:\t"]) + it for it in inner]
        return "{" + space + ("," + (space or " ")).join(keys) + end + space + "}"
    return "[" + ", ".join(f"k{at}: {it}" for at, it in enumerate(inner)) + "]"


def block(depth, indent, anchors):
    pad = " " * indent
    kind = draw.randrange(9 if depth else 4)
    anchor = ""
    if draw.random() < 0.15:
        anchor = f"&n{len(anchors)} "
    tag = draw.choice(TAGS)
    if kind < 2:
        if draw.random() < 0.1 and anchors:
            return f" *{draw.choice(anchors)}\n"
        return f" {anchor}{tag if tag != '!!seq ' else ''}{scalar()}{draw.choice(COMMENTS)}\n"
    if kind == 2:
        return f" {anchor}{flow(2)}{draw.choice(COMMENTS)}\n"
    if kind == 3:
        style, chomp = draw.choice("|>"), draw.choice(["", "-", "+"])
        more = draw.randrange(1, 4)
        told = draw.choice(["", str(more)])
        told = draw.choice([told + chomp, chomp + told])
        lines = draw.choice([["x"], ["x", "", "  y"], ["# no comment", "z: 1"], ["{{ x }}", "\ttab"], ["a ", "b"], ["", "late"], ["---x"], ["é 日"]])
        if told.strip("+-") == "" and lines[0].startswith((" ", "\t")):
            lines = ["x"] + lines
        text = "".join((pad + " " * more + it if it else draw.choice(["", pad])) + "\n" for it in lines)
        after = draw.choice(["", "", pad + "\n", "\n\n"])
        return f" {anchor}{style}{told}{draw.choice(COMMENTS)}\n{text}{after}"
    before = draw.choice(["", "", "", "\n", pad + "# c\n", "# c\n", "\t\n"])
    head = f" {anchor}{draw.choice(COMMENTS)}\n{before}" if anchor or draw.random() < 0.9 else "\n"
    if anchor:
        anchors.append(anchor[1:-1])
    out = head
    step = draw.randrange(1, 5)
    if kind < 6:
        for at in range(draw.randrange(1, 4)):
            key = draw.choice([f"k{at}", f"'k {at}'", f'"k{at}"', f"k{at} ", f"!!str k{at}", f"&m{draw.randrange(10**6)} k{at}", f"? k{at}\n{pad}", f"? [k{at}, 1]\n{pad}", f"? |\n{pad} k{at}\n{pad}", f"{at}"])
            out += f"{pad}{key}:{block(depth - 1, indent + step, anchors)}"
            if draw.random() < 0.1:
                out += pad + "# c\n"
        if anchors and draw.random() < 0.3:
            out += f"{pad}<<: *{draw.choice(anchors)}\n"
        return out
    if kind < 8:
        for _ in range(draw.randrange(1, 4)):
            out += f"{pad}-{draw.choice(['', ' ', '   '])}{block(depth - 1, indent + step + 3, anchors).lstrip(' ') or ''}" if draw.random() < 0.2 else f"{pad}-{block(depth - 1, indent + step, anchors)}"
        return out
    return out + f"{pad}- k: {scalar()}\n{pad}  l: {flow(1)}\n{pad}- - 1\n{pad}  - 2\n"


def document():
    start = draw.choice(["", "---\n", "--- # c\n", "%YAML 1.1\n---\n", "%TAG !e! tag:e:\n---\n", "# c\n%YAML 1.1\n--- \n", "---\t\n"])
    end = draw.choice(["", "", "...\n", "... # c\n"])
    return start + block(4, 0, []).lstrip(" ").lstrip("\n") + end


def file():
    text = document()
    while draw.random() < 0.3:
        text += draw.choice(["---\n", "...\n---\n", "--- "]) + document()
    roll = draw.random()
    if roll < 0.1:
        text = text.replace("\n", "\r\n")
    elif roll < 0.15:
        text = text.replace("\n", "\r")
    if draw.random() < 0.05:
        text = "\ufeff" + text
    if draw.random() < 0.2:
        text = text.rstrip("\n")
    return text


def changed(text):
    for _ in range(draw.randrange(1, 4)):
        at = draw.randrange(len(text) + 1)
        text = draw.choice([
            text[:at] + text[at + 1:],
            text[:at] + draw.choice(list(" \t\n\r:-?#&*!|>'\"%@`{}[],<=~.0a\u00a0\u0085\u2028\ufeff")) + text[at:],
            text[:at] + text[at:at + 5] + text[at:],
        ])
    return text


# Whether no alias names what holds it.
def is_tree(node, within=()):
    if not isinstance(node, yaml.CollectionNode):
        return True
    if id(node) in within:
        return False
    pairs = node.value if isinstance(node, yaml.MappingNode) else [(it,) for it in node.value]
    return all(is_tree(it, (*within, id(node))) for pair in pairs for it in pair)


def is_read(text):
    try:
        return all(is_tree(it) for it in yaml.compose_all(text, Loader=yaml.SafeLoader))
    except (yaml.YAMLError, RecursionError, ValueError, IndexError):
        return False


told = 0
while told < many:
    text = file()
    if draw.random() < 0.5:
        text = changed(text)
    if text.strip() and is_read(text):
        print(json.dumps(text))
        told += 1
