#!/bin/sh
# check_report.sh <sluice-sim>: renders a report in a headless browser, wide and narrow, moves a pointer over
# each plot, and fails on any error on the console, on values that are none, and on a page wider than the window.
set -eu
browser=
for each in chromium chromium-browser google-chrome chromium-headless-shell; do
  if command -v "$each" > /dev/null; then
    browser=$each
    break
  fi
done
if [ -z "$browser" ]; then
  echo "SKIPPED: no chromium is installed, so nobody has looked at the report" >&2
  exit 77
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# It exits with 1 when a bar is missed, which is another test's business.
"$1" E1 E2 --seeds 1 --report "$scratch/report.html" > "$scratch/log" 2>&1 || [ $? -eq 1 ] || {
  cat "$scratch/log"
  exit 1
}

cat > "$scratch/probe" << 'END'
<script>
addEventListener("load", function () {
  "use strict";
  var box = document.getElementById("values");
  var plots = document.querySelectorAll("svg.plot");
  if (document.documentElement.scrollWidth > innerWidth) { console.error("the page is wider than the window"); }
  plots.forEach(function (plot) {
    var edge = plot.getBoundingClientRect();
    var name = plot.getAttribute("aria-label");
    plot.querySelectorAll("text").forEach(function (text) {
      var own = text.getBoundingClientRect();
      var cut = edge.left - 1 > own.left || own.right > edge.right + 1;
      if (cut) { console.error(name + ": cut: " + text.textContent); }
    });
    for (var share = 0.15; 0.95 > share; share += 0.1) {
      box.textContent = "";
      plot.dispatchEvent(new PointerEvent("pointermove", { clientX: edge.left + share * edge.width, clientY: 50 }));
      if (box.textContent === "" || /NaN|undefined|Infinity/.test(box.textContent)) {
        console.error(name + ": values: " + box.textContent);
      }
    }
  });
  document.body.setAttribute("data-probed", String(plots.length));
});
</script>
END
cat "$scratch/report.html" "$scratch/probe" > "$scratch/probed.html"
echo '<p>x</p><script>throw new Error("seen");</script>' > "$scratch/faulty.html"

# look <page> <width>: what is on the console goes to $scratch/console, the page as it is then to $scratch/dom
look() {
  sandbox=
  [ "$(id -u)" -ne 0 ] || sandbox=--no-sandbox
  timeout 120 "$browser" --headless $sandbox --disable-gpu --user-data-dir="$scratch/profile" --window-size="$2,900" \
    --enable-logging=stderr --virtual-time-budget=2000 --dump-dom "file://$scratch/$1" \
    > "$scratch/dom" 2> "$scratch/log"
  grep CONSOLE "$scratch/log" > "$scratch/console" || true
}

look faulty.html 1280
if ! grep -q seen "$scratch/console"; then
  echo "this browser does not tell what is on its console:"
  cat "$scratch/log"
  exit 1
fi
for width in 1280 400; do
  look probed.html "$width"
  if [ -s "$scratch/console" ]; then
    echo "at a width of $width:"
    cat "$scratch/console"
    exit 1
  fi
  plots=$(sed -n 's/.*data-probed="\([0-9]*\)".*/\1/p' "$scratch/dom")
  [ "${plots:-0}" -ge 30 ] || { echo "at a width of $width: ${plots:-no} plots were looked at"; exit 1; }
  echo "at a width of $width: $plots plots"
done
