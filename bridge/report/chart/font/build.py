#!/usr/bin/python3
"""Builds Spillway.ttf, the font of the charts, from two fonts of Debian 12.

    apt-get install --no-install-recommends fonts-open-sans fonts-droid-fallback python3-fonttools
    ./build.py [TEXT...]

Latin, Greek and signs are Open Sans 1.11; Han and Chinese punctuation are Droid
Sans Fallback 6.0.1r16. Both are under the Apache License 2.0, see LICENSE. Of
Han it has the 6,763 of GB 2312, and every further one in the files TEXT. The
same sources give the same bytes, with the fonttools of Debian 12 (4.38.0).
"""

import sys
from pathlib import Path

from fontTools import merge, subset
from fontTools.ttLib import TTFont
from fontTools.ttLib.scaleUpem import scale_upem

LATIN = "/usr/share/fonts/truetype/open-sans/OpenSans-Regular.ttf"
HAN = "/usr/share/fonts/truetype/droid/DroidSansFallbackFull.ttf"
OUT = Path(__file__).with_name("Spillway.ttf")
UNITS = 1024  # in an em: Open Sans loses nothing that is seen, and deltas stay short
SIGNS = (0x2212, 0x2248, 0x2260, 0x2264, 0x2265)  # − ≈ ≠ ≤ ≥
NAMES = {1: "Spillway Charts", 2: "Regular", 4: "Spillway Charts Regular", 6: "SpillwayCharts-Regular"}


def is_han(c):
    return "\u3400" <= c <= "\u9fff"


def gb2312():
    """The Han, punctuation and full-width signs of GB 2312, without kana and box drawing."""
    rows = {*range(0xA1, 0xA4), *range(0xB0, 0xF8)}
    for row in rows:
        for cell in range(0xA1, 0xFF):
            try:
                yield bytes([row, cell]).decode("gb2312")
            except UnicodeDecodeError:
                pass


def part(path, characters):
    """A font cut to some characters, without hinting, kerning and what else is not drawn."""
    font = TTFont(path, recalcTimestamp=False)
    options = subset.Options()
    options.hinting = False
    options.layout_features = []
    options.name_IDs = [0, 13, 14]
    options.notdef_outline = True
    options.drop_tables += ["GDEF", "GPOS", "GSUB", "vhea", "vmtx", "kern", "DSIG", "gasp"]
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=sorted(characters))
    subsetter.subset(font)
    scale_upem(font, UNITS)
    cut = OUT.with_suffix(f".{Path(path).stem}.tmp")
    font.save(cut)
    return cut


def main():
    wanted = set(gb2312())
    for text in sys.argv[1:]:
        wanted |= {c for c in Path(text).read_text(encoding="utf-8") if is_han(c)}
    drawn = set(TTFont(HAN).getBestCmap())
    latin = {c for c in TTFont(LATIN).getBestCmap() if c < 0x2200 or c in SIGNS}
    han = {ord(c) for c in wanted if ord(c) in drawn} - latin
    missing = {c for c in wanted if is_han(c) and ord(c) not in han}
    if missing:
        sys.exit(f"the source font lacks {''.join(sorted(missing))}")
    cuts = [part(LATIN, latin), part(HAN, han)]
    font = merge.Merger().merge([str(c) for c in cuts])
    for cut in cuts:
        cut.unlink()
    copyrights = [str(TTFont(p)["name"].getDebugName(0)) for p in (LATIN, HAN)]
    font["name"].names = []
    for number, text in {0: "; ".join(dict.fromkeys(copyrights)), 13: "Apache License, Version 2.0", **NAMES}.items():
        font["name"].setName(text, number, 3, 1, 0x409)
    font["post"].formatType = 3.0  # no names of glyphs
    font["head"].created = font["head"].modified = TTFont(LATIN)["head"].modified
    font.recalcTimestamp = False
    font.save(OUT)
    print(f"{OUT.name}: {len(font.getBestCmap())} characters, {OUT.stat().st_size} bytes")


main()
