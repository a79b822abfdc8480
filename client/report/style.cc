#include "client/report/style.h"

namespace expunge::report {

absl::string_view Style() {
  return R"(
:root { color-scheme: light dark; --paper: #fff; --ink: #1a1f26; --quiet: #566170; --line: #d5dae1; --soft: #f4f6f8;
  --good: #17663a; --good-soft: #e6f4ec; --bad: #a3201a; --bad-soft: #fcebea; --open: #74540a; --open-soft: #fbf3dc;
  --margin: #2a64a8; --error: #b3560b; --reserve: #8b95a3; --link: #1f5c99; }
@media (prefers-color-scheme: dark) { :root { --paper: #14181d; --ink: #e6e9ed; --quiet: #a2acb8; --line: #343c46;
  --soft: #1d232a; --good: #7fd6a3; --good-soft: #16301f; --bad: #ff9d96; --bad-soft: #3a1b1a; --open: #e8c569;
  --open-soft: #332a12; --margin: #6fa8e8; --error: #e79a52; --reserve: #77828f; --link: #8ab8ec; } }
* { box-sizing: border-box; }
html { background: var(--paper); }
body { margin: 0 auto; max-width: 52rem; padding: 2.5rem 1.5rem 4rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, "Segoe UI", "Liberation Sans", "DejaVu Sans", sans-serif; }
h1 { margin: 0 0 .25rem; font-size: 1.9rem; line-height: 1.2; letter-spacing: -.01em; }
h2 { margin: 0 0 .35rem; font-size: 1.4rem; line-height: 1.25; }
h3 { margin: 1.9rem 0 .5rem; font-size: 1.05rem; }
p { margin: .5rem 0; }
ul { margin: .4rem 0; padding-left: 1.25rem; }
li { margin: .3rem 0; }
.quiet { color: var(--quiet); }
.small { font-size: .875rem; }
.over { margin: 0 0 .3rem; color: var(--quiet); font-size: .8rem; letter-spacing: .09em; text-transform: uppercase; }
code { font: .86em/1.4 ui-monospace, "Liberation Mono", "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
pre { margin: .6rem 0; padding: .75rem .9rem; background: var(--soft); border: 1px solid var(--line); border-radius: 6px;
  white-space: pre-wrap; overflow-wrap: anywhere; }
pre code { font-size: .82rem; }
.verdict { display: flex; gap: .9rem; align-items: flex-start; margin: 1.3rem 0; padding: .9rem 1.1rem; border-radius: 8px;
  border: 1px solid; border-left-width: 6px; }
.verdict p { margin: .1rem 0; }
.verdict strong { font-size: 1.08rem; }
.mark { flex: none; font-size: 1.35rem; line-height: 1.3; font-weight: 700; }
.good { color: var(--good); background: var(--good-soft); border-color: var(--good); }
.bad { color: var(--bad); background: var(--bad-soft); border-color: var(--bad); }
.open { color: var(--open); background: var(--open-soft); border-color: var(--open); }
.verdict .body { color: var(--ink); }
.chip { display: inline-block; padding: .08rem .55rem; border-radius: 1rem; border: 1px solid; font-size: .8rem; font-weight: 600;
  white-space: nowrap; }
article { margin: 2.6rem 0 0; padding-top: 1.6rem; border-top: 3px solid var(--ink); }
.lead { font-size: 1.1rem; }
dl { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 0 2rem; margin: .6rem 0; }
dl.wide { grid-template-columns: minmax(0, 1fr); }
dl div { padding: .5rem 0; border-bottom: 1px solid var(--line); break-inside: avoid; }
dt { color: var(--quiet); font-size: .82rem; }
dd { margin: 0; overflow-wrap: anywhere; }
table { width: 100%; border-collapse: collapse; margin: .6rem 0; }
th, td { padding: .4rem .6rem .4rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top;
  font-weight: normal; }
td { overflow-wrap: anywhere; }
.until td:last-child { width: 11.5rem; }
.over code { text-transform: none; letter-spacing: 0; }
thead th { color: var(--quiet); font-size: .82rem; border-bottom-color: var(--ink); }
tbody th { font-weight: 600; }
.counts td, .counts thead th + th { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.counts tbody th { font-weight: normal; }
.counts .all th, .counts .all td { font-weight: 600; border-bottom: 0; }
.key { display: inline-block; width: .8rem; height: .8rem; margin-right: .5rem; border-radius: 2px; vertical-align: -.08rem; }
.key.margin { background: var(--margin); } .key.error { background: var(--error); } .key.reserve { background: var(--reserve); }
figure { margin: .6rem 0; break-inside: avoid; }
svg { display: block; width: 100%; height: auto; }
svg text { font: 15px system-ui, "Liberation Sans", "DejaVu Sans", sans-serif; fill: var(--ink); }
svg .inside { fill: #fff; text-anchor: middle; font-weight: 600; }
svg .reserve + .inside { fill: #14181d; }
svg .total { fill: var(--quiet); }
svg .margin { fill: var(--margin); } svg .error { fill: var(--error); } svg .reserve { fill: var(--reserve); }
@media (prefers-color-scheme: dark) { svg .inside { fill: #14181d; } }
.split { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 1.2rem; margin-top: 1.6rem; }
.split section { padding: .9rem 1.1rem; background: var(--soft); border: 1px solid var(--line); border-radius: 8px; }
.split h3 { margin-top: 0; }
.split ul { font-size: .93rem; }
footer { margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--line); color: var(--quiet); font-size: .85rem; }
@media (max-width: 40rem) { body { padding: 1.4rem 1rem 3rem; } dl, .split { grid-template-columns: minmax(0, 1fr); }
  h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; } .counts .quiet { display: block; } svg text { font-size: 18px; } }
@page { size: A4; margin: 18mm 16mm; }
@media print { :root { color-scheme: light; --paper: #fff; --ink: #000; --quiet: #444; --line: #bbb; --soft: #f6f6f6;
  --good: #17663a; --good-soft: #fff; --bad: #a3201a; --bad-soft: #fff; --open: #74540a; --open-soft: #fff;
  --margin: #2a64a8; --error: #b3560b; --reserve: #8b95a3; }
  body { max-width: none; padding: 0; font-size: 10pt; } article { break-before: page; border-top: 0; margin-top: 0; padding-top: 0; }
  article.first { break-before: auto; margin-top: 1.6rem; } h2, h3 { break-after: avoid; } tr, li, .verdict, pre { break-inside: avoid; }
  svg .inside { fill: #fff; } svg .reserve + .inside { fill: #000; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
)";
}

}  // namespace expunge::report
