"""A shop's day in SQL for sqlite3: tables are filled row by row, indexed, changed and asked; and the answers,
computed here without a database."""

import random
from collections import Counter

SEED = 41
ORDERS = 120_000  # at 100 % of the work

WORDS = "amber birch cedar delta ember fjord grove heron islet jetty knoll larch".split()
SCHEMA = """\
.mode list
.separator |
pragma cache_size = 4000;
create table customer(id integer primary key, name text, town text, notes text);
create table orders(id integer primary key, customer integer, thing text, pieces integer, cents integer);
create table line(number integer, text text);
"""


def text(rng, words):
    return " ".join(rng.choice(WORDS) for _ in range(words))


def customers_of(rng, count):
    return [(k, f"{rng.choice(WORDS)} {k}", rng.choice(WORDS), text(rng, rng.randint(3, 20))) for k in range(count)]


def orders_of(rng, count, customers):
    def one(number):
        thing = f"{rng.choice(WORDS)}-{rng.randrange(400)}"
        return [number, rng.randrange(customers), thing, rng.randint(1, 9), rng.randint(50, 9999)]

    return [one(number) for number in range(count)]


def insertions(table, rows, together):
    """Some rows a statement, some statements a transaction."""
    for at in range(0, len(rows), together):
        if at % (together * 100) == 0:
            yield "commit; begin;" if at else "begin;"
        values = ",".join("({})".format(",".join(map(literal, row))) for row in rows[at : at + together])
        yield f"insert into {table} values{values};"
    yield "commit;"


def literal(value):
    return str(value) if isinstance(value, int) else f"'{value}'"


class Day:
    def __init__(self, percent):
        self.rng = random.Random(SEED)
        count = max(50, ORDERS * percent // 100)
        self.customers = customers_of(self.rng, count // 10)
        self.orders = orders_of(self.rng, count, count // 10)
        self.statements = [SCHEMA]
        self.answers = []

    def ask(self, question, answer):
        self.statements.append(question)
        self.answers += ["|".join(map(str, row)) for row in answer]

    def fill(self):
        self.statements += insertions("customer", self.customers, 1)
        self.statements += insertions("orders", self.orders, 3)
        self.statements.append("create index by_customer on orders(customer);")
        self.statements.append("create index by_thing on orders(thing, cents);")

    def change(self):
        """Orders of one town become dearer; those of one thing go."""
        town, rng = {c[0]: c[2] for c in self.customers}, self.rng
        chosen, thing = rng.choice(WORDS), rng.choice(self.orders)[2]
        self.statements.append(
            f"update orders set cents = cents + 7 where customer in (select id from customer where town = '{chosen}');"
            f"delete from orders where thing = '{thing}';"
        )
        for order in self.orders:
            order[4] += 7 * (town[order[1]] == chosen)
        self.orders = [order for order in self.orders if order[2] != thing]

    def turnover(self):
        town, turnover = {c[0]: c[2] for c in self.customers}, Counter()
        for _, customer, _, pieces, cents in self.orders:
            turnover[town[customer]] += pieces * cents
        self.ask(
            "select town, sum(pieces * cents) from orders join customer on customer = customer.id"
            " group by town order by town;",
            sorted(turnover.items()),
        )

    def best(self):
        things = Counter()
        for order in self.orders:
            things[order[2]] += order[3]
        self.ask(
            "select thing, sum(pieces) from orders group by thing order by 2 desc, 1 limit 20;",
            sorted(things.items(), key=lambda item: (-item[1], item[0]))[:20],
        )

    def single_questions(self, count):
        """What a till asks: one customer's orders, by the index."""
        by_customer = {}
        for order in self.orders:
            by_customer.setdefault(order[1], []).append(order)
        for _ in range(count):
            who = self.rng.randrange(len(self.customers))
            found = by_customer.get(who, [])
            self.ask(
                f"select count(*), total(cents), group_concat(id) from"
                f" (select id, cents from orders where customer = {who} order by id);",
                [(len(found), float(sum(o[4] for o in found)), ",".join(str(o[0]) for o in found))],
            )

    def texts(self):
        """Strings put together, cut and compared within the database."""
        count = len(self.orders) // 2
        self.statements.append(
            f"insert into line with recursive n(k) as (select 0 union all select k + 1 from n where k + 1 < {count})"
            " select k, replace(printf('%d %s %d', k, hex(k * 7919), k % 97), '3', 'three')"
            " || substr(hex(zeroblob(k % 300)), 9) from n;"
        )
        lines = []
        for k in range(count):
            digits = str(k * 7919).encode().hex()
            lines.append(f"{k} {digits} {k % 97}".replace("3", "three") + ("00" * (k % 300))[8:])
        self.ask("select count(*), sum(length(text)) from line;", [(count, sum(map(len, lines)))])
        self.ask(
            "select count(*) from (select distinct substr(text, -40) || (number % 500) from line);",
            [(len({f"{line[-40:]}{k % 500}" for k, line in enumerate(lines)}),)],
        )

    def make(self):
        self.fill()
        self.turnover()
        self.change()
        self.best()
        self.single_questions(len(self.orders) // 5)
        self.texts()
        self.turnover()
        return "\n".join(self.statements) + "\n", self.answers


def make(percent):
    """-> (the statements, the lines of the answer)"""
    return Day(percent).make()
