"""The report page in a real browser, as readers with and without eyes, mice and programs see it."""

import itertools

import pytest

from embedalloc.study.claims.verdicts import SECTIONS, VERDICTS
from embedalloc.study.page.render import slug
from tests.oracles.report_like import claims_frame, write_multiverse, write_report
from tests.programs import require
from tests.study.page.chromium import chromium, find

pytestmark = pytest.mark.slow  # starts a browser

CLAIMS = claims_frame().drop_duplicates("claim")
VISIBLE = "[...document.querySelectorAll('details.claim')].filter((c) => c.checkVisibility())"
OPEN_ALL = "document.querySelectorAll('details').forEach((d) => { d.open = true; })"
ACTIVE = "document.activeElement.id || document.activeElement.className"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    page = folder / "report.html"
    page.write_text(write_report(folder), encoding="utf-8")
    return page.as_uri()


@pytest.fixture(scope="module")
def multiverse_address(tmp_path_factory):
    page = tmp_path_factory.mktemp("multiverse") / "multiverse.html"
    page.write_text(write_multiverse(page.parent), encoding="utf-8")
    return page.as_uri()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    program = find()
    require(program, "no Chromium here; on Debian and Ubuntu: apt-get install chromium")
    with chromium(program, tmp_path_factory.mktemp("profile")) as tab:
        yield tab


@pytest.fixture
def window(browser):
    """A light window of 1280 pixels, with programs allowed."""
    browser.programs(True)
    browser.scheme("light")
    browser.size(1280)
    return browser


@pytest.fixture
def tab(window, address):
    """The page as it opens."""
    window.open(address)
    return window


def test_nothing_is_logged_and_nothing_is_fetched(tab, address):
    tab.run(OPEN_ALL)
    tab.run("scrollTo(0, document.body.scrollHeight)")
    tab.run("new Promise((done) => setTimeout(done, 300))")
    for kind in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
        assert tab.seen(kind) == []
    asked = [event["request"]["url"] for event in tab.seen("Network.requestWillBeSent")]
    assert [url for url in asked if not url.startswith("data:")] == [address]
    assert "Reproduction" in tab.run("document.title")  # and not what hostile text would make it


def test_every_image_decodes(tab):
    images = tab.run(
        "Promise.all([...document.images].map((i) => i.decode().then(() => i.naturalWidth)))"
    )
    assert images == [1260] * 17


def test_filters_do_what_they_say(tab):
    total = len(CLAIMS)
    for section, verdict in itertools.product(("", *SECTIONS), ("", *VERDICTS)):
        shown = tab.run(
            f"""(() => {{
              const choose = (id, value) => {{
                const select = document.getElementById(id);
                select.value = value;
                select.dispatchEvent(new Event("change", {{ bubbles: true }}));
              }};
              choose("by-section", "{section}");
              choose("by-verdict", "{slug(verdict)}");
              return {VISIBLE}.map((c) => c.id);
            }})()"""
        )
        fits = CLAIMS[
            CLAIMS["section"].isin([section] if section else list(SECTIONS))
            & CLAIMS["verdict"].isin([verdict] if verdict else VERDICTS)
        ]
        assert shown == [f"claim-{name}" for name in fits["claim"]], (section, verdict)
        said = tab.run("document.getElementById('shown').textContent")
        assert said == f"{len(fits)} of {total} claims"
        headings = "document.querySelectorAll('.group:not([hidden]) > h3')"
        assert tab.run(f"{headings}.length") == fits["section"].nunique()
        assert tab.run("document.getElementById('nothing').checkVisibility()") == fits.empty


def test_counts_on_the_first_screen_lead_to_their_claims(tab, address):
    for verdict, count in CLAIMS["verdict"].value_counts().items():
        link = f"document.querySelector('a.count[data-verdict={slug(verdict)}]')"
        assert tab.run(f"{link}.querySelector('.number').textContent") == str(count)
        tab.run(f"{link}.click()")
        assert tab.run(f"{VISIBLE}.length") == count
        assert tab.run("location.hash") == f"#claims?verdict={slug(verdict)}"
    # The address brings the choice back, and showing all forgets it.
    tab.open(f"{address}#claims?section=exp3&verdict=partly")
    fits = (CLAIMS["section"] == "exp3") & (CLAIMS["verdict"] == "partly")
    assert tab.run(f"{VISIBLE}.length") == fits.sum() > 0
    tab.run("document.querySelector('button[type=reset]').click()")
    assert tab.run(f"{VISIBLE}.length") == len(CLAIMS)
    assert tab.run("location.hash") == "#claims"


def test_an_address_opens_its_claim(tab, address):
    tab.open(f"{address}#claim-exp2-1-0")
    assert tab.run("document.getElementById('claim-exp2-1-0').open")
    tab.run("document.querySelector('a.count[data-verdict=not-testable]').click()")
    assert not tab.run("document.getElementById('claim-exp2-1-0').checkVisibility()")
    tab.run("document.querySelector('#figure-exp2_train_test a[href=\"#claim-exp2-1-0\"]').click()")
    tab.run("new Promise((done) => setTimeout(done, 100))")
    assert tab.run("document.getElementById('claim-exp2-1-0').checkVisibility()")


@pytest.fixture(params=["report", "multiverse"])
def either(request, window, address, multiverse_address):
    """Each page in turn."""
    window.open(address if request.param == "report" else multiverse_address)
    return window


@pytest.mark.parametrize("width", [320, 390, 768, 1280, 1920])
def test_the_page_is_never_wider_than_the_window(either, width):
    tab = either
    tab.size(width)
    for script in ("0", OPEN_ALL):
        tab.run(script)
        assert tab.run("document.documentElement.scrollWidth <= innerWidth")
        assert tab.run("innerWidth") == width
    # Nothing sticks out and is cut either, except what scrolls in a box of its own.
    outside = tab.run(
        """[...document.querySelectorAll("body *")].filter((e) => e.checkVisibility()
          && !e.closest(".scroll, .unseen, .skip, #verdict-title")
          && e.getBoundingClientRect().right > innerWidth + 0.5)
          .map((e) => e.outerHTML.slice(0, 80))"""
    )
    assert outside == []


@pytest.mark.parametrize("width", [390, 768, 1280, 1920])
def test_what_is_cut_says_that_it_scrolls(either, width):
    """And nothing else says so; at the end of its way a box says it no longer."""
    tab = either
    tab.size(width)
    tab.run(OPEN_ALL)
    tab.run("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 100)))")
    boxes = """[...document.querySelectorAll(".scroll")].map((box) => [
      box.scrollWidth - box.clientWidth - box.scrollLeft > 2,
      box.classList.contains("more"),
      box.nextElementSibling.matches(".hint") && box.nextElementSibling.checkVisibility(),
    ])"""
    found = tab.run(boxes)
    assert all(cut == faded == told for cut, faded, told in found)
    if width != 768:  # a window between, in which the widest tables are cut
        assert any(cut for cut, _, _ in found) == (width == 390)
    tab.run("document.querySelectorAll('.scroll').forEach((b) => { b.scrollLeft = 1e6; })")
    tab.run("new Promise((done) => setTimeout(done, 200))")
    assert tab.run(boxes) == [[False] * 3] * len(found)


def test_the_first_screen_holds_the_sentence_and_its_three_numbers(tab):
    for width, height in ((390, 844), (1280, 800)):
        tab.size(width, height)
        shown = tab.run(
            """[...document.querySelectorAll(".lead, .counts .number")].map((e) =>
              [e.textContent, e.getBoundingClientRect().bottom <= innerHeight])"""
        )
        assert len(shown) == 4
        assert all(seen for _, seen in shown)
        assert all(number in shown[0][0] for number, _ in shown[1:])


def test_without_programs_everything_is_there(tab, address):
    tab.programs(False)
    tab.open(address)
    assert tab.run(f"{VISIBLE}.length") == len(CLAIMS)
    assert not tab.run("document.getElementById('filters').checkVisibility()")
    # A reader opens a claim with the browser's own means.
    box = tab.run(
        """(() => {
          const summary = document.querySelector("details.claim > summary");
          summary.scrollIntoView({ block: "center" });
          const { x, y } = summary.getBoundingClientRect();
          return [x + 20, y + 10];
        })()"""
    )
    for kind in ("mousePressed", "mouseReleased"):
        tab.call(
            "Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1
        )
    assert tab.run("document.querySelector('details.claim').open")
    assert tab.run("document.querySelector('details.claim .readings').checkVisibility()")


CONTRAST = """(() => {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const rgba = (color) => {
    if (!known.has(color)) {
      context.clearRect(0, 0, 1, 1);
      context.fillStyle = color;
      context.fillRect(0, 0, 1, 1);
      known.set(color, [...context.getImageData(0, 0, 1, 1).data]);
    }
    return known.get(color);
  };
  const light = (c) => [0.2126, 0.7152, 0.0722].reduce((sum, weight, i) => {
    const v = c[i] / 255;
    return sum + weight * (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  }, 0);
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const color = rgba(getComputedStyle(e).backgroundColor);
      if (color[3] > 200) return color;
    }
    return [255, 255, 255, 255];
  };
  const found = [];
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!own || !e.checkVisibility() || ["SCRIPT", "STYLE", "OPTION"].includes(e.tagName)) continue;
    const [a, b] = [light(rgba(getComputedStyle(e).color)), light(behind(e))];
    found.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), e.outerHTML.slice(0, 90)]);
  }
  return found;
})()"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_on_the_page_of_the_multiverse(tab, multiverse_address, scheme):
    tab.scheme(scheme)
    tab.open(multiverse_address)
    found = tab.run(CONTRAST)
    assert len(found) > 100
    assert [entry for entry in found if entry[0] < 4.5] == []
    for kind in ("Runtime.exceptionThrown", "Log.entryAdded"):
        assert tab.seen(kind) == []
    asked = [event["request"]["url"] for event in tab.seen("Network.requestWillBeSent")]
    assert [url for url in asked if not url.startswith("data:")] == [multiverse_address]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_both_schemes(tab, scheme):
    tab.scheme(scheme)
    dark = tab.run("matchMedia('(prefers-color-scheme: dark)').matches")
    assert dark == (scheme == "dark")
    tab.run(OPEN_ALL)
    found = tab.run(CONTRAST)
    assert len(found) > 500
    assert [entry for entry in found if entry[0] < 4.5] == []
    assert all(any(f"badge v-{slug(v)}" in text for _, text in found) for v in VERDICTS)
    # The page really changes, and figures with it: none glares in the dark.
    page = tab.run("getComputedStyle(document.body).backgroundColor")
    assert (page == "rgb(251, 250, 248)") == (scheme == "light")
    figure = tab.run("getComputedStyle(document.querySelector('figure .scroll')).backgroundColor")
    assert (figure == "rgb(255, 255, 255)") == (scheme == "light")
    image = tab.run("getComputedStyle(document.querySelector('figure img')).filter")
    assert (image == "none") == (scheme == "light")


def test_the_keyboard_is_enough(tab):
    tab.press("Tab")
    assert tab.run(ACTIVE) == "skip"
    assert tab.run("document.activeElement.getBoundingClientRect().top >= 0")
    tab.press("Enter")
    assert tab.run(ACTIVE) == "main"
    for _ in range(30):
        tab.press("Tab")
        assert tab.run("getComputedStyle(document.activeElement).outlineStyle") != "none"
        if tab.run(ACTIVE) == "by-verdict":
            break
    assert tab.run(ACTIVE) == "by-verdict"
    tab.press("ArrowDown")
    tab.press("ArrowDown")
    chosen = tab.run("document.getElementById('by-verdict').value")
    assert chosen == slug(VERDICTS[1])
    assert tab.run(f"{VISIBLE}.length") == (CLAIMS["verdict"] == VERDICTS[1]).sum()
    # Every box that scrolls sideways can be reached, to be scrolled with the arrow keys.
    assert tab.run("[...document.querySelectorAll('.scroll')].every((e) => e.tabIndex === 0)")


def test_a_screen_reader_finds_names_for_everything(tab):
    tab.run(OPEN_ALL)
    nodes = [n for n in tab.call("Accessibility.getFullAXTree")["nodes"] if not n["ignored"]]

    def names(role):
        return [n.get("name", {}).get("value", "") for n in nodes if n["role"]["value"] == role]

    assert len(names("image")) == 17
    assert all(len(name) > 80 for name in names("image"))
    assert {"Part", "Verdict"} <= set(names("combobox"))
    for role in ("table", "region", "button", "link", "navigation"):
        assert names(role), role
        assert all(names(role)), role
    assert len(names("heading")) > 30
    assert names("status")
    assert names("columnheader")
    assert names("rowheader")


def test_paper_shows_everything(tab):
    tab.run("document.querySelector('a.count[data-verdict=partly]').click()")
    tab.run("dispatchEvent(new Event('beforeprint'))")
    assert tab.run("document.querySelectorAll('details:not([open])').length") == 0
    tab.call("Emulation.setEmulatedMedia", media="print")
    assert tab.run(f"{VISIBLE}.length") == len(CLAIMS)
    assert not tab.run("document.querySelector('.contents').checkVisibility()")
    tab.call("Emulation.setEmulatedMedia", media="")
    tab.run("dispatchEvent(new Event('afterprint'))")
    assert tab.run("document.querySelectorAll('details[open]').length") == 0
    assert tab.paper().startswith(b"%PDF")
