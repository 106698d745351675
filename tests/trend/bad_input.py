"""What a refusal must be."""


def one_line(error):
    """Give the text of an error, which must be one line."""
    text = str(error)
    assert len(text.splitlines()) == 1, text
    return text
