from initmem.figures.publish import FIGURES, publish


def test_publish_writes_a_report_with_every_figure(study, tmp_path):
    report = publish(study, tmp_path)
    html = report.read_text()
    assert html.count("data:image/svg+xml;base64,") == len(FIGURES)
    written = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    figures = {f"figures/{stem}.{kind}" for stem in FIGURES for kind in ("svg", "png")}
    assert written == {"report.html", "cells.csv", "table.csv", "table.parquet", *figures}
