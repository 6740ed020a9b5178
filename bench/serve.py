"""The lab under a browser's questions and under a flood: times of answers, and what the server has left after it.

The limit of the machine is the same server answering a style sheet, which computes nothing.
"""

import argparse
import http.client
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import quote, urlsplit

FORMULAS = ("x3 & x11", "maj(x1, x2, x5)", "x1 ^ x2 ^ x3 ^ x4", "x1 & x2 | x3 & ~x4 | x5 & x6 & x7 & x8")
BAD = (
    "/ask/variable/variable?formula=%26%26",
    "/ask/variable/variable?context=x",
    "/nothing",
    "/static/..%2F",
    "/ask/latent/context?model=%3Cb%3E",
)


class Browser:
    """A connection that has been let in."""

    def __init__(self, address: str, cookie: str) -> None:
        self.connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)
        self.cookie = cookie

    def get(self, path: str) -> tuple[int, bytes]:
        """Status and body of an answer."""
        self.connection.request("GET", path, headers={"Cookie": self.cookie})
        answer = self.connection.getresponse()
        return answer.status, answer.read()

    def seconds(self, path: str, times: int) -> float:
        """The median time of an answer."""
        taken = []
        for _ in range(times):
            began = time.perf_counter()
            self.get(path)
            taken.append(time.perf_counter() - began)
        return statistics.median(taken)


def memory(process: subprocess.Popen[str]) -> float:
    """Megabytes that the server holds."""
    lines = Path(f"/proc/{process.pid}/status").read_text("utf8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def flood(address: str, cookie: str, seconds: float, rate: float, counts: list[int]) -> None:
    """Bad questions at a steady rate, from one connection."""
    browser, began, sent = Browser(address, cookie), time.perf_counter(), 0
    while (now := time.perf_counter() - began) < seconds:
        if sent > now * rate:
            time.sleep(0.002)
            continue
        status, _ = browser.get(BAD[sent % len(BAD)])
        sent += 1
        if status >= 500:
            raise SystemExit(f"the server answered {status} to {BAD[(sent - 1) % len(BAD)]}")
    counts.append(sent)


def listen(address: str, cookie: str, stop: threading.Event) -> None:
    """A page that hears of changes."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
    connection.request("GET", "/watch/sweeps", headers={"Cookie": cookie})
    answer = connection.getresponse()
    answer.read1(64)
    stop.wait()
    connection.close()


def main() -> None:
    """Print a table of times, then what the flood did."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10, help="length of the flood")
    parser.add_argument("--rate", type=float, default=1000, help="bad questions a second, over all connections")
    parser.add_argument("--readers", type=int, default=50, help="pages that listen meanwhile")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "keyhole", "serve", "--no-browser", "--port", "0", "--store", folder]
        process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)  # noqa: S603  (our own command)
        address = process.stderr.readline().split()[-1]  # type: ignore[union-attr]
        first = http.client.HTTPConnection(urlsplit(address).netloc)
        first.request("GET", f"/?{urlsplit(address).query}")
        cookie = first.getresponse().headers["set-cookie"].partition(";")[0]
        browser = Browser(address, cookie)
        limit = browser.seconds("/static/lab.css", 200)
        print(f"a style sheet (nothing is computed)  {1e3 * limit:8.2f} ms")
        print(f"the start page                       {1e3 * browser.seconds('/variable', 50):8.2f} ms")
        for formula in FORMULAS:
            path = f"/ask/variable/variable?formula={quote(formula)}&samples="
            browser.get(f"{path}1")  # what is imported for the first question is no part of a keystroke
            fresh = statistics.median(
                browser.seconds(f"/ask/variable/variable?formula={quote(formula)}&context={40 + k}", 1)
                for k in range(15)
            )
            print(f"a keystroke: {formula[:22]:22}  {1e3 * fresh:8.2f} ms ({fresh / limit:.0f} times the style sheet)")
        before, stop, counts = memory(process), threading.Event(), []
        readers = [
            threading.Thread(target=listen, args=(address, cookie, stop), daemon=True) for _ in range(asked.readers)
        ]
        floods = [
            threading.Thread(target=flood, args=(address, cookie, asked.seconds, asked.rate / 8, counts), daemon=True)
            for _ in range(8)
        ]
        for thread in (*readers, *floods):
            thread.start()
        for thread in floods:
            thread.join()
        after = Browser(address, cookie).get("/ask/variable/variable?formula=x1")[0]
        stop.set()
        for thread in readers:
            thread.join()
        print(
            f"flood: {sum(counts):,} bad questions in {asked.seconds:g} s ({sum(counts) / asked.seconds:,.0f} each)\n"
            f"  with {asked.readers} pages listening; then a good question is answered {after}\n"
            f"  memory {before:.0f} MB before, {memory(process):.0f} MB after"
        )
        process.terminate()
        process.wait(10)


if __name__ == "__main__":
    main()
