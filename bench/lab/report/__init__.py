"""The report: a page with its plots, and a summary for the terminal."""


def write(results, folder):
    """Writes FOLDER/report.html and FOLDER/plots/*.png. -> the page's path"""
    from . import page

    return page.write(results, folder)


def show(results, console):
    from . import terminal

    terminal.show(results, console)


def show_json(results, console):
    from . import lines

    lines.show(results, console.file)
