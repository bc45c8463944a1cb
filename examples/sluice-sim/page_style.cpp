#include "page_style.hpp"

namespace sluice_sim {

// The colours of classes are told apart by those who see no red or no green as well, in either theme.
const char* const page_style = R"css(
:root{color-scheme:light dark;--page:#fff;--card:#f6f7f9;--ink:#1c2128;--soft:#5d6673;--rule:#d8dce2;--grid:#e6e9ee;
--k0:#0b6bb3;--k1:#d9820a;--k2:#0a8f6b;--k3:#b8467f;--k4:#7a5cc4;--k5:#6b6b6b;
--w0:#157f6b;--w1:#73c3ae;--w2:#5b83bd;--w3:#2f4f7f;--w4:#9bbf3b;--w5:#888;
--b0:#d1495b;--b1:#e8a33d;--b2:#9c4f96;--b3:#7a4b2a;--b4:#4a4a4a;--b5:#c9a0a0;
--ok:#0a7a55;--miss:#c2253a;--own:#e7f0fa}
@media (prefers-color-scheme:dark){:root{--page:#0f1318;--card:#171d24;--ink:#e3e7ec;--soft:#9aa5b1;--rule:#343d48;
--grid:#252d36;--k0:#5ab4f0;--k1:#f2a93d;--k2:#35c79a;--k3:#ea8fbc;--k4:#b09cf5;--k5:#b0b0b0;
--w0:#35b79a;--w1:#1f7564;--w2:#7ba6e0;--w3:#4a6fa8;--w4:#9bbf3b;--w5:#888;
--b0:#ef6a7a;--b1:#f0b45a;--b2:#c583c0;--b3:#b98560;--b4:#a5a5a5;--b5:#c9a0a0;
--ok:#4fd1a0;--miss:#ff7d8c;--own:#16283b}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.45 system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
header,main{max-width:1280px;margin:0 auto;padding:0 16px}
header{padding-top:20px}
h1{font-size:24px;margin:0}
h2{font-size:20px;margin:40px 0 4px;padding-top:12px;border-top:1px solid var(--rule)}
h2 a{color:inherit;text-decoration:none}
h3{font-size:15px;margin:22px 0 4px}
p{margin:4px 0;color:var(--soft);max-width:80ch}
nav{display:flex;flex-wrap:wrap;gap:8px;margin:12px 0}
nav a{color:inherit;text-decoration:none;background:var(--card);border:1px solid var(--rule);border-radius:6px;
padding:4px 10px}
.ok{color:var(--ok)}.miss{color:var(--miss)}.ok b,.miss b{white-space:nowrap}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums;margin:2px 0}
td,th{padding:3px 10px;text-align:right;border-bottom:1px solid var(--grid);white-space:nowrap;vertical-align:top}
th{color:var(--soft);font-weight:600;white-space:normal;vertical-align:bottom;min-width:62px}
td:first-child,th:first-child{text-align:left;padding-left:4px}
.bars-reached td:nth-child(2),.bars-reached th:nth-child(2){text-align:left;white-space:normal;min-width:170px}
.own td{background:var(--own);font-weight:600}
.range{display:block;color:var(--soft);font-weight:400;font-size:11px;line-height:1.1}
.tables{display:flex;flex-wrap:wrap;gap:0 40px;align-items:flex-start}
.tables>*{max-width:100%;min-width:0}
svg.reach{display:block;width:110px;height:12px}
.reach .track{fill:var(--grid)}.reach .limit{fill:var(--ink)}.reach .ok{fill:var(--ok)}.reach .miss{fill:var(--miss)}
.reach .ok,.reach .miss{fill-opacity:.75}
ul.legend{list-style:none;margin:0 0 6px;padding:0;display:flex;flex-wrap:wrap;gap:2px 16px;font-size:13px;
color:var(--soft)}
.legend li{display:inline-flex;align-items:center;gap:6px}
svg.key{width:22px;height:12px;flex:none}
.hidden{position:absolute}
.panels{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,290px),1fr));gap:10px}
.figures{display:flex;flex-wrap:wrap;gap:0 24px}
.plots{flex:1 1 100%;min-width:0}
.single{flex:0 1 400px}.single .panels{grid-template-columns:1fr}
.few{grid-template-columns:repeat(auto-fill,minmax(min(100%,290px),440px))}
@media (min-width:960px){.threes{grid-template-columns:1fr 1fr 1fr}}
figure{margin:0;background:var(--card);border-radius:8px;padding:6px 6px 2px}
figcaption{font-size:13px;font-weight:600;padding:0 4px}
svg.plot{display:block;width:100%;height:auto}
svg text{font-size:10.5px;fill:var(--soft)}
.to-the-left{text-anchor:end}.below{text-anchor:middle}
.grid{stroke:var(--grid);fill:none}.axis{stroke:var(--soft);fill:none}
.c0{--c:var(--k0)}.c1{--c:var(--k1)}.c2{--c:var(--k2)}.c3{--c:var(--k3)}.c4{--c:var(--k4)}.c5{--c:var(--k5)}
.bars.c0{--c:var(--w0)}.bars.c1{--c:var(--w1)}.bars.c2{--c:var(--w2)}
.bars.c3{--c:var(--w3)}.bars.c4{--c:var(--w4)}.bars.c5{--c:var(--w5)}
.below.c0{--c:var(--b0)}.below.c1{--c:var(--b1)}.below.c2{--c:var(--b2)}
.below.c3{--c:var(--b3)}.below.c4{--c:var(--b4)}.below.c5{--c:var(--b5)}
.line polyline,.limit polyline{fill:none;stroke:var(--c);stroke-width:1.5;stroke-linejoin:round}
.limit polyline{stroke-dasharray:5 3;stroke-width:1.8}
.line .dot{fill:none;stroke:var(--c);stroke-width:5;stroke-linecap:round}
.dots .dot{fill:none;stroke:var(--c);stroke-width:3.2;stroke-linecap:round;stroke-opacity:.55}
.dots .crowd{stroke-width:2.4;stroke-opacity:.22}
.dots polyline{fill:none;stroke:var(--c,var(--soft));stroke-width:1.7;stroke-linejoin:round}
.dots .most{stroke-dasharray:5 2.5}
.dots .halo{stroke:var(--card);stroke-width:4;stroke-opacity:.75}
.ticks path{stroke:var(--c);stroke-width:1;fill:none}
.area polygon,.bars path{fill:var(--c)}
.pale{fill:var(--c);fill-opacity:.22}.full{fill:var(--c);fill-opacity:.75}
.cursor{stroke:var(--ink);stroke-width:.7;stroke-dasharray:2 2}
#values{position:fixed;display:none;pointer-events:none;background:var(--page);border:1px solid var(--rule);
border-radius:6px;padding:4px 8px;font-size:12px;white-space:pre;font-variant-numeric:tabular-nums;z-index:1}
@media (max-width:500px){body{font-size:14px}header,main{padding-left:10px;padding-right:10px}td,th{padding:3px 6px}}
@media print{.panels{grid-template-columns:1fr 1fr 1fr}figure{break-inside:avoid}}
)css";

const char* const page_script = R"js(
(function () {
  "use strict";
  var box = document.getElementById("values");
  function scale(part) {
    return { least: +part[0], most: +part[1], low: +part[2], high: +part[3] };
  }
  function at(of, place, factors) {
    var share = (place - of.low) / (of.high - of.low);
    return factors ? of.least * Math.pow(of.most / of.least, share) : of.least + share * (of.most - of.least);
  }
  function corners(shape) {
    return shape.getAttribute("points").split(" ").map(function (each) { return each.split(",").map(Number); });
  }
  function nearest(all, x) {
    var best = 0;
    all.forEach(function (each, i) { if (Math.abs(all[best][0] - x) > Math.abs(each[0] - x)) { best = i; } });
    return best;
  }
  function text(value) { return String(+value.toPrecision(3)); }
  function lines(group, x, y, factors) {
    var name = group.dataset.name;
    var found = [];
    group.querySelectorAll("polyline:not(.halo)").forEach(function (each) {
      var all = corners(each);
      var place = all[nearest(all, x)];
      var is = each.classList;
      var what = is.contains("half") ? ", half below" : is.contains("most") ? ", 95 % below" : "";
      if (4 > Math.abs(place[0] - x)) { found.push(name + what + ": " + text(at(y, place[1], factors))); }
    });
    group.querySelectorAll("polygon").forEach(function (each) {
      var all = corners(each);
      var upper = all.slice(0, all.length / 2);
      var i = nearest(upper, x);
      var held = at(y, upper[i][1], factors) - at(y, all[all.length - 1 - i][1], factors);
      found.push(name + ": " + text(Math.round(held * 100) / 100));
    });
    if (group.classList.contains("bars")) {
      group.firstChild.getAttribute("d").split("z").forEach(function (each) {
        var part = each.match(/M([0-9.]+) ([0-9.]+)h([0-9.]+)V([0-9.]+)/);
        if (part === null || +part[1] > x || x > +part[1] + +part[3] * 1.2) { return; }
        var high = Math.abs(at(y, +part[4], factors) - at(y, +part[2], factors));
        found.push(name + ": " + text(Math.round(high * 100) / 100));
      });
    }
    return found;
  }
  document.querySelectorAll("svg.plot").forEach(function (plot) {
    var part = plot.dataset.scales.split(" ");
    var unit = plot.dataset.units.split("|");
    var x = scale(part.slice(0, 4));
    var y = scale(part.slice(4, 8));
    var factors = part[8] === "factors";
    var cursor = document.createElementNS("http://www.w3.org/2000/svg", "path");
    cursor.setAttribute("class", "cursor");
    function hide() {
      box.style.display = "none";
      cursor.remove();
    }
    plot.addEventListener("pointerleave", hide);
    plot.addEventListener("pointermove", function (event) {
      var edge = plot.getBoundingClientRect();
      var place = (event.clientX - edge.left) * plot.viewBox.baseVal.width / edge.width;
      if (x.low > place || place > x.high) { return hide(); }
      cursor.setAttribute("d", "M" + place + " " + y.low + "V" + y.high);
      plot.append(cursor);
      var found = [text(at(x, place, false)) + " " + unit[0]];
      plot.querySelectorAll("g.series").forEach(function (group) {
        found = found.concat(lines(group, place, y, factors));
      });
      box.textContent = found.join("\n");
      box.style.display = "block";
      var right = event.clientX + 14 + box.offsetWidth > window.innerWidth;
      box.style.left = (right ? Math.max(4, event.clientX - 14 - box.offsetWidth) : event.clientX + 14) + "px";
      box.style.top = Math.max(4, Math.min(event.clientY + 14, window.innerHeight - box.offsetHeight - 4)) + "px";
    });
  });
}());
)js";

}  // namespace sluice_sim
