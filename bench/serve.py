"""The lab under a browser's questions, and under a flood while a job is at work: times, memory, and the job's outcome.

The limit of the machine is the same server answering a style sheet, which computes nothing. First paint and the time
from a key to the new drawing are measured in headless Chromium where there is one. In the flood pages listen and bad
requests come at a steady rate; the job's log is compared, line by line, with that of the same command run alone.
"""

import argparse
import http.client
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote, urlsplit

FORMULAS = ("x3 & x11", "maj(x1, x2, x5)", "x1 ^ x2 ^ x3 ^ x4", "x1 & x2 | x3 & ~x4 | x5 & x6 & x7 & x8")
BAD: tuple[tuple[str, str, bytes], ...] = (
    ("GET", "/ask/variable/variable?formula=%26%26", b""),
    ("GET", "/ask/variable/variable?context=x", b""),
    ("GET", "/nothing", b""),
    ("GET", "/static/..%2F", b""),
    ("GET", "/ask/latent/context?model=%3Cb%3E", b""),
    ("GET", "/ask/model/attention?image=../../x", b""),
    ("POST", "/begin/training/start", b'{"task": "x1 &"}'),
    ("POST", "/begin/training/start", b"[" * 1000),
    ("POST", "/give/image", b'{"image": "AAAA"}'),
    ("POST", "/jobs/999/cancel", b"{}"),
)
SHORT = {"task": "parity:3", "context": 200, "samples": 2000, "seed": 7}
LONG = {"task": "parity:3", "context": 800, "samples": 4000, "seed": 7}  # at work for a minute and more
FLOODS = 8  # connections of the flood
WATCH_PAINT = "performance.getEntriesByType('paint').find((entry) => entry.name === 'first-contentful-paint').startTime"
TYPE = """([formula, cells]) => new Promise((done) => {
  const field = document.querySelector('[name=formula]'), place = document.getElementById('strip');
  const began = performance.now();
  const seen = new MutationObserver(() => {
    if (place.querySelectorAll('.head:first-child button.relevant').length !== cells) return;
    seen.disconnect();
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
  });
  seen.observe(place, { childList: true, subtree: true });
  field.value = formula;
  field.dispatchEvent(new Event('input', { bubbles: true }));
})"""


class Browser:
    """A connection that has been let in."""

    def __init__(self, address: str, cookie: str) -> None:
        self.connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
        self.headers = {"Cookie": cookie, "Origin": address.partition("/?")[0], "Content-Type": "application/json"}

    def ask(self, path: str, method: str = "GET", body: bytes = b"") -> tuple[int, bytes]:
        """Status and body of an answer."""
        self.connection.request(method, path, body or None, headers=self.headers)
        answer = self.connection.getresponse()
        return answer.status, answer.read()

    def seconds(self, path: str, times: int) -> float:
        """The median time of an answer."""
        taken = []
        for _ in range(times):
            began = time.perf_counter()
            self.ask(path)
            taken.append(time.perf_counter() - began)
        return statistics.median(taken)


class Server:
    """The lab as a process of its own, on a store of its own."""

    def __init__(self, folder: Path) -> None:
        words = [sys.executable, "-m", "keyhole", "serve", "--no-browser", "--port", "0", "--store", str(folder)]
        self.process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)  # noqa: S603  (our own command)
        self.address = self.process.stderr.readline().split()[-1]  # type: ignore[union-attr]
        first = http.client.HTTPConnection(urlsplit(self.address).netloc)
        first.request("GET", f"/?{urlsplit(self.address).query}")
        self.cookie = first.getresponse().headers["set-cookie"].partition(";")[0]
        self.browser = Browser(self.address, self.cookie)

    @property
    def memory(self) -> float:
        """Megabytes that the server holds."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text("utf8").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024

    def close(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait(20)


def flood(server: Server, seconds: float, rate: float, counts: Counter[int]) -> None:
    """Bad requests at a steady rate, from one connection; each must be refused, none by a fault."""
    browser, began, sent = Browser(server.address, server.cookie), time.perf_counter(), 0
    while (now := time.perf_counter() - began) < seconds:
        if sent > now * rate:
            time.sleep(0.002)
            continue
        method, path, body = BAD[sent % len(BAD)]
        status, _ = browser.ask(path, method, body)
        counts[status] += 1
        sent += 1


def listen(server: Server, stop: threading.Event, heard: list[int]) -> None:
    """A page that hears of changes."""
    connection = http.client.HTTPConnection(urlsplit(server.address).netloc, timeout=120)
    connection.request("GET", "/watch/sweeps", headers={"Cookie": server.cookie})
    answer = connection.getresponse()
    heard.append(len(answer.read1(64)))
    stop.wait()
    connection.close()


def in_a_browser(server: Server, times: int = 5) -> None:
    """First paint of the start page, and the time from a key to the new drawing."""
    found = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        found = None
    if found is None:
        print("first paint and keys in a browser were not measured: it takes playwright and a Chromium")
        return
    name, _, value = server.cookie.partition("=")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        context = chromium.new_context()
        context.add_cookies([{"name": name, "value": value, "url": server.address.partition("/?")[0]}])
        paints = []
        for _ in range(times):
            page = context.new_page()
            page.goto(server.address.partition("/?")[0])
            page.wait_for_selector("button.cell.relevant")
            paints.append(page.evaluate(WATCH_PAINT))
            page.close()
        print(f"first paint of the start page        {max(paints):8.0f} ms at most, of {times}")
        page = context.new_page()
        page.goto(f"{server.address.partition('/?')[0]}/variable")
        page.wait_for_selector("button.cell.relevant")
        for formula, last, cells in zip(FORMULAS, ("x11", "x5", "x4", "x8"), (2, 3, 4, 8), strict=True):
            typed = [formula.replace(last, f"x{20 + k}") for k in range(5)]
            taken = [page.evaluate(TYPE, [each, cells]) for each in typed]
            print(
                f"a key to its drawing, s = {cells}:         {max(taken):8.0f} ms at most, of 5 (80 ms are the pause)"
            )
        chromium.close()


def questions(server: Server) -> None:
    """Print the times of answers."""
    browser = server.browser
    limit = browser.seconds("/static/lab.css", 200)
    print(f"a style sheet (nothing is computed)  {1e3 * limit:8.2f} ms")
    print(f"the start page                       {1e3 * browser.seconds('/variable', 50):8.2f} ms")
    for formula in FORMULAS:
        for what, name in (("head", "response"), ("page", "variable")):
            path = f"/ask/variable/{name}?formula={quote(formula)}"
            browser.ask(f"{path}&samples=1")  # what is imported for the first question is no part of a keystroke
            taken = [browser.seconds(f"{path}&context={40 + 7 * k}", 1) for k in range(15)]
            fresh = statistics.median(taken)
            words = f"a key, the {what}: {formula[:20]:20}"
            print(f"{words:36} {1e3 * fresh:8.2f} ms ({fresh / limit:.0f} times the style sheet)")


def alone(job: Mapping[str, object], folder: Path) -> list[str]:
    """The lines that the job's command prints where no lab asks for it."""
    words = [
        "train",
        "--context",
        job["context"],
        "--samples",
        job["samples"],
        "--seed",
        job["seed"],
    ]
    words += ["--set", "every=10", "--frames", "--store", folder, "--", job["task"]]
    command = [sys.executable, "-m", "keyhole", *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()  # noqa: S603


def wait_for(server: Server, number: int, seconds: float) -> str:
    """The state in which a job ends."""
    until = time.time() + seconds
    while time.time() < until:
        state = _state(server, number)
        if state not in ("waiting", "running"):
            return state
        time.sleep(0.5)
    return "still running"


def _state(server: Server, number: int) -> str:
    jobs = json.loads(Browser(server.address, server.cookie).ask("/jobs")[1])["jobs"]
    return next(str(job["state"]) for job in jobs if job["number"] == number)


def under_a_flood(server: Server, folder: Path, asked: argparse.Namespace) -> bool:
    """Flood the server while a job is at work; print what came of both."""
    job = LONG if asked.seconds > 20 else SHORT
    wanted = [] if asked.no_job else alone(job, folder / "alone")
    number = 0
    if not asked.no_job:
        asking = Browser(server.address, server.cookie)
        number = json.loads(asking.ask("/begin/training/start", "POST", json.dumps(job).encode())[1])["number"]
    before, stop, counts, heard = server.memory, threading.Event(), Counter[int](), list[int]()
    readers = [threading.Thread(target=listen, args=(server, stop, heard)) for _ in range(asked.readers)]
    share = (server, asked.seconds, asked.rate / FLOODS, counts)
    floods = [threading.Thread(target=flood, args=share) for _ in range(FLOODS)]
    began = time.perf_counter()
    _start((*readers, *floods))
    highest = before
    while any(thread.is_alive() for thread in floods):
        highest = max(highest, server.memory)
        time.sleep(0.5)
    took = time.perf_counter() - began
    good = Browser(server.address, server.cookie).ask("/ask/variable/variable?formula=x1")[0]
    stop.set()
    for thread in readers:
        thread.join()
    sent, faults = counts.total(), sum(count for status, count in counts.items() if status >= 500)
    print(
        f"flood: {sent:,} bad requests in {took:.0f} s ({sent / took:,.0f} a second), {faults} faults, "
        f"with {len(heard)} pages listening;\n  then a good question is answered {good}; memory {before:.0f} MB "
        f"before, {highest:.0f} MB at most, {server.memory:.0f} MB after"
    )
    fine = faults == 0 and good == 200 and len(heard) == asked.readers
    if asked.no_job:
        return fine
    running = _state(server, number) == "running"
    state = wait_for(server, number, 900)
    made = _log(folder / "lab" / "lab-jobs")
    same = [line for line in made if line.startswith("{")] == [line for line in wanted if line.startswith("{")]
    print(
        f"  the job under way ({'outlived the flood' if running else 'ended before the flood did'}): {state}, "
        f"{len(made)} lines, {'equal' if same else 'NOT EQUAL'} to those made alone"
    )
    return fine and state == "done" and same


def _start(threads: Sequence[threading.Thread]) -> None:
    for thread in threads:
        thread.daemon = True
        thread.start()


def _log(folder: Path) -> list[str]:
    (path,) = folder.glob("*.log")
    return path.read_text("utf8").splitlines()


def main() -> None:
    """Print a table of times, then what the flood did."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10, help="length of the flood")
    parser.add_argument("--rate", type=float, default=1000, help="bad requests a second, over all connections")
    parser.add_argument("--readers", type=int, default=50, help="pages that listen meanwhile")
    parser.add_argument("--no-job", action="store_true", help="flood without a job under way")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        server = Server(folder / "lab")
        try:
            questions(server)
            in_a_browser(server)
            fine = under_a_flood(server, folder, asked)
        finally:
            server.close()
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
