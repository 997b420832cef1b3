"""The prose rule: plain sentences in the field's words. Its tests read documents and source."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator

#: The most words of a sentence. A colon and a semicolon end one, too.
LONGEST = 20
#: Former words of this project, and phrases that have to be solved. Inline code may contain them.
FORMER = re.compile(
    r"\b(told|lent|lends?|spoilt|spoils?|nobody|whoever|at hand|written out|handed (out|on)"
    r"|stretched|stretches|halves|lanes?|(each|every) turn|in (its|their) turn"
    r"|a text|texts|this text|quick way|ahead of the loop|in parts|(its|their) like"
    r"|and (its|their) kin|while compiling|only a run|the run knows)\b",
    re.IGNORECASE,
)
#: Words that no sentence begins with.
OPENING = re.compile(r"(What|That|Such|So|Nobody|Whoever|Of what|One(?! of\b| or\b))\b")
#: The first word of a function's docstring: a verb in the third person, or "True" of "True if".
VERB = re.compile(r"(?!This|Its|Thus)[A-Z][a-z-]*s\b|True (if|for|where|while)\b")
#: The name of a predicate: a function with this name that returns a bool.
_PREDICATE = re.compile(r"_*(is|are|has|have)_")
_CODE = re.compile(r"(`+).*?\1", re.DOTALL)
_END = re.compile(r"(?<=[.!?:;])[)*\"']*\s+")
_FORMULA = re.compile(r"[=*/^\[\]_<>|²³√∂]|^\W*$|^[b-zB-HJ-Z]\W*$|\w\(")
_MARKER = re.compile(r"^(?:[-*] (?:\[.\] )?|\d+\. |>\s)")


def word_count(sentence: str) -> int:
    """Returns the number of words; a formula and the signs in it are none.

    >>> word_count("The sum of CODE, here x = a + b * c.")
    6
    """
    return sum(not _FORMULA.search(word) for word in sentence.split())


def split(text: str) -> Iterator[str]:
    """Yields the sentences of a paragraph, with the word CODE for each piece of inline code.

    >>> list(split("- A `b. C` is here: two. Three."))
    ['A CODE is here:', 'two.', 'Three.']
    """
    text = _MARKER.sub("", _CODE.sub("CODE", " ".join(text.split())))
    yield from (each for each in _END.split(text) if each)


def page_sentences(page: str) -> Iterator[tuple[str, bool]]:
    """Yields each sentence of a Markdown page without its code; True marks the cell of a table.

    >>> list(page_sentences("# Title\\n\\nOne `a. B` is here. Two.\\n\\n| cell | more |"))
    [('One CODE is here.', False), ('Two.', False), ('cell', True), ('more', True)]
    """
    page = re.sub(r"```.*?```|<!-- measured -->.*?<!-- end -->|<!--.*?-->", "", page, flags=re.S)
    for block in re.split(r"\n(?=\n|- |\d+\. |\||#)", page):
        text = block.strip("\n")
        if not text or text.startswith(("#", "    ", "|---")):
            continue
        if text.startswith("|"):
            cells = _CODE.sub("CODE", text).strip("|").split("|")
            yield from ((cell.strip(), True) for cell in cells)
        else:
            yield from ((each, False) for each in split(text))


def page_faults(page: str) -> list[str]:
    """Returns what a page has against the rule, one line for each sentence."""
    return [
        fault
        for sentence, is_cell in page_sentences(page)
        for fault in sentence_faults(sentence, 10**6 if is_cell else LONGEST)
    ]


def text_faults(text: str) -> list[str]:
    """Returns what a paragraph has against the rule."""
    return [fault for sentence in split(text) for fault in sentence_faults(sentence)]


def sentence_faults(sentence: str, longest: int = LONGEST) -> Iterator[str]:
    """Yields what a sentence without its code has against the rule."""
    if former := FORMER.search(sentence):
        yield f"'{former[0]}' in: {sentence}"
    if OPENING.match(sentence):
        yield f"opening of: {sentence}"
    if (count := word_count(sentence)) > longest:
        yield f"{count} words in: {sentence}"


# ---- source


def paragraphs(docstring: str) -> Iterator[str]:
    """Yields the paragraphs of a docstring, without examples and literal blocks.

    A list of aligned names and their meanings is a paragraph for each name.

    >>> list(paragraphs("First\\nline.\\n\\nx   a\\n    b\\nyy  c\\n\\n>>> 1\\n1\\n\\nLast."))
    ['First line.', 'a b', 'c', 'Last.']
    """
    for block in re.split(r"\n\s*\n", docstring):
        if block.lstrip().startswith(">>>"):
            continue
        item: list[str] = []
        for line in block.partition(">>>")[0].splitlines():
            name = re.match(r"(?=\S)[\w*, .()`/-]+?(?: {2,}|\t)(?=\S)", line)
            if name or _MARKER.match(line):
                yield from filter(None, [" ".join(item)])
                item = []
            elif line.startswith("    ") and not item:
                continue  # a literal block
            item.append(line[name.end() :].strip() if name else line.strip())
        yield from filter(None, [" ".join(item)])


def docstrings(tree: ast.Module) -> Iterator[tuple[int, bool, str]]:
    """Yields line and text of each docstring; True marks that of a function, not of a property."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, kinds) and (text := ast.get_docstring(node)):
            yield node.body[0].lineno, _is_action(node), text


def _is_action(node: ast.AST) -> bool:
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    decorators = [ast.unparse(each) for each in node.decorator_list]
    return not any(each.endswith("property") or each.endswith(".setter") for each in decorators)


def predicates(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yields line and docstring of each predicate: ``is_large``, ``_has_axes`` with ``-> bool``.

    >>> source = "def is_odd(n: int) -> bool:\\n    'Tells it.'"
    >>> list(predicates(ast.parse(source)))
    [(2, 'Tells it.')]
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and _PREDICATE.match(node.name):
            text = ast.get_docstring(node)
            if text and node.returns is not None and ast.unparse(node.returns) == "bool":
                yield node.body[0].lineno, text


def docstring_faults(text: str, is_action: bool) -> list[str]:
    """Returns what a docstring has against the rule.

    >>> docstring_faults("Sum of x.", is_action=True)
    ['no verb: Sum of x.']
    """
    faults = [fault for each in paragraphs(text) for fault in text_faults(each)]
    if is_action and not VERB.match(text):
        faults.insert(0, f"no verb: {text.splitlines()[0]}")
    return faults


def comments(source: str) -> Iterator[tuple[int, str]]:
    """Yields the line and the text of each comment; comments on lines of their own are joined.

    >>> list(comments("#: One\\n#: comment.\\nx = 1  # another\\n"))
    [(1, 'One comment.'), (3, 'another')]
    """
    first, last, column, parts = 0, -1, -1, [""]
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        row, start = token.start
        text = token.string.lstrip("#:").strip()
        if row == last + 1 and start == column and not token.line[:start].strip():
            parts.append(text)
        else:
            if first:
                yield first, " ".join(parts)
            first, parts = row, [text]
        last, column = row, start if not token.line[:start].strip() else -1
    if first:
        yield first, " ".join(parts)
