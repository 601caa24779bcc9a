"""A page for a browser: text, tables, style sheets, and scripts that build, sort, search and take down what the page
shows. It becomes green at its upper left corner if the scripts have counted what was put in."""

import json
import random

SEED = 1996
SECTIONS, LEAST = 60, 3  # at 100 % of the work; these fill a screen
WORDS = "amber birch cedar delta ember fjord grove heron islet jetty knoll larch marsh north otter plain".split()

HEAD = """<!DOCTYPE html>
<html><head><meta charset="utf-8"><title>stock</title><style>
* { font-family: sans-serif; font-size: 13px; }
body { margin: 0; }
#answer { width: 40px; height: 40px; background: #ff0000; }
table { border-collapse: collapse; margin: 4px; }
td, th { border: 1px solid #888; padding: 1px 5px; }
tr:nth-child(even) td { background: #eee; }
.amount { text-align: right; }
.low { color: #a00; font-weight: bold; }
%s
</style></head><body><div id="answer"></div>
"""

SCRIPT = """
'use strict';
var counted = 0;

function element(name, text, className) {
  var made = document.createElement(name);
  if (text !== null) made.appendChild(document.createTextNode(text));
  if (className) made.className = className;
  return made;
}

function rowsOf(table, records) {
  records.forEach(function (record) {
    var row = element('tr', null);
    row.setAttribute('data-id', record.id);
    row.appendChild(element('td', record.id));
    row.appendChild(element('td', record.name, 'w-' + record.name.split(' ')[0]));
    row.appendChild(element('td', record.amount, record.amount < 100 ? 'amount low' : 'amount'));
    row.appendChild(element('td', record.tags.join(', ')));
    table.appendChild(row);
  });
}

function sortBy(table, column) {
  var rows = Array.prototype.slice.call(table.querySelectorAll('tr'));
  var keys = new Map();
  rows.forEach(function (row) { keys.set(row, row.cells[column].textContent); });
  rows.sort(function (a, b) {
    var order = keys.get(a) < keys.get(b) ? -1 : keys.get(a) > keys.get(b) ? 1 : 0;
    return order || a.getAttribute('data-id') - b.getAttribute('data-id');
  });
  rows.forEach(function (row) { table.appendChild(row); });
}

function build(section, records) {
  var table = element('table', null);
  rowsOf(table, records);
  section.appendChild(table);
  var width = section.offsetWidth;  // the layout is made now, and again after each change
  for (var column = 1; column < 4; ++column) {
    sortBy(table, column);
    width += table.rows[0].offsetHeight;
  }
  var text = section.innerHTML.replace(/<[^>]*>/g, ' ').split(/\\s+/);
  var words = {};
  text.forEach(function (word) { words[word] = (words[word] || 0) + 1; });
  var summary = element('ul', null);
  summary.innerHTML = Object.keys(words).sort().map(function (word) {
    return '<li><b>' + word + '</b> ' + words[word] + '</li>';
  }).join('');
  section.appendChild(summary);
  width += summary.offsetHeight;
  section.removeChild(summary);
  counted += table.querySelectorAll('td.low').length;
  // Most rows go, as on a page that shows a part of what there is.
  while (table.rows.length > 12) table.deleteRow(table.rows.length - 1);
  return width;
}
"""


def record(rng, number):
    return {
        "id": number,
        "name": " ".join(rng.choices(WORDS, k=rng.randint(2, 5))),
        "amount": rng.randint(0, 2000),
        "tags": rng.sample(WORDS, rng.randint(1, 4)),
    }


def make(percent):
    rng = random.Random(SEED)
    rules = "\n".join(f".w-{word} {{ background: #{rng.randrange(1 << 24):06x}; }}" for word in WORDS)
    parts, low = [HEAD % rules, f"<script>{SCRIPT}</script>\n"], 0
    for number in range(max(LEAST, SECTIONS * percent // 100)):
        link = f"<a href='#s{number}'>{number}</a>"
        text = " ".join(f"<p>{' '.join(rng.choices(WORDS, k=60))} {link}</p>" for _ in range(4))
        records = [record(rng, row) for row in range(rng.randint(100, 300))]
        low += sum(one["amount"] < 100 for one in records)
        parts.append(f"<div id='s{number}'><h2>{rng.choice(WORDS)}</h2>{text}</div>\n")
        parts.append(f"<script>build(document.getElementById('s{number}'), {json.dumps(records)});</script>\n")
    answer = "document.getElementById('answer').style.background = '#00ff00'"
    parts.append(f"<script>if (counted === {low}) {answer};</script></body></html>\n")
    return "".join(parts)


def write(path, percent):
    path.write_text(make(percent), encoding="ascii")
