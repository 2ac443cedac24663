"""The 22 queries of TPC-H, asked of a database that lies on three generations of MEMS storage and on three disks.

The data have the shape of the benchmark's and are drawn here, so that no figure is one of the benchmark. Each query is
asked twice of each device: cold, when nothing has been read yet, and again, warm, with what SQLite's own cache has kept
of it. Only the time that a query waits for storage is counted; a processor's time is not.

    python examples/tpch/run.py [--scale 0.01] [--cache-kib 2000] [--plot tpch.html]
"""

import argparse
import sqlite3
import sys
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import apsw

from sledsim.show import COLOURS, Table, altair_library, apply_style, number, save, values
from sledsim.sqlite import connect

DEVICES = ("g1", "g2", "g3", "atlas10k", "superdisk", "cheetah73")
#: What a query waited for storage on each device, ms: cold, and warm.
Waits = dict[str, tuple[float, float]]


SCHEMA = """
create table region(r_regionkey integer primary key, r_name text);
create table nation(n_nationkey integer primary key, n_name text, n_regionkey integer);
create table supplier(s_suppkey integer primary key, s_name text, s_address text, s_nationkey integer, s_phone text,
                      s_acctbal real, s_comment text);
create table customer(c_custkey integer primary key, c_name text, c_address text, c_nationkey integer, c_phone text,
                      c_acctbal real, c_mktsegment text, c_comment text);
create table part(p_partkey integer primary key, p_name text, p_mfgr text, p_brand text, p_type text, p_size integer,
                  p_container text, p_retailprice real);
create table partsupp(ps_partkey integer, ps_suppkey integer, ps_availqty integer, ps_supplycost real,
                      primary key(ps_partkey, ps_suppkey)) without rowid;
create table orders(o_orderkey integer primary key, o_custkey integer, o_orderstatus text, o_totalprice real,
                    o_orderdate text, o_orderpriority text, o_shippriority integer, o_comment text);
create table lineitem(l_orderkey integer, l_partkey integer, l_suppkey integer, l_linenumber integer, l_quantity real,
                      l_extendedprice real, l_discount real, l_tax real, l_returnflag text, l_linestatus text,
                      l_shipdate text, l_commitdate text, l_receiptdate text, l_shipinstruct text, l_shipmode text,
                      primary key(l_orderkey, l_linenumber)) without rowid;
create index orders_of_customer on orders(o_custkey);
create index lines_of_part on lineitem(l_partkey, l_suppkey);
"""
REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
#: Each nation with the number of its region.
NATIONS = (
    ("ALGERIA", 0), ("ARGENTINA", 1), ("BRAZIL", 1), ("CANADA", 1), ("EGYPT", 4), ("ETHIOPIA", 0), ("FRANCE", 3),
    ("GERMANY", 3), ("INDIA", 2), ("INDONESIA", 2), ("IRAN", 4), ("IRAQ", 4), ("JAPAN", 2), ("JORDAN", 4), ("KENYA", 0),
    ("MOROCCO", 0), ("MOZAMBIQUE", 0), ("PERU", 1), ("CHINA", 2), ("ROMANIA", 3), ("SAUDI ARABIA", 4), ("VIETNAM", 2),
    ("RUSSIA", 3), ("UNITED KINGDOM", 3), ("UNITED STATES", 1),
)  # fmt: skip
SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY")
PRIORITIES = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
SHIP_MODES = ("AIR", "AIR REG", "FOB", "MAIL", "RAIL", "SHIP", "TRUCK")
INSTRUCTIONS = ("COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN")
TYPES = (("ECONOMY", "LARGE", "MEDIUM", "PROMO", "SMALL", "STANDARD"), ("ANODIZED", "BRUSHED", "BURNISHED", "PLATED",
         "POLISHED"), ("BRASS", "COPPER", "NICKEL", "STEEL", "TIN"))  # fmt: skip
CONTAINERS = (("JUMBO", "LG", "MED", "SM", "WRAP"), ("BAG", "BOX", "CAN", "CASE", "DRUM", "JAR", "PACK", "PKG"))
PAINTS = ("almond", "azure", "blue", "brown", "cream", "forest", "green", "ivory", "khaki", "linen", "lime", "maroon",
          "navy", "olive", "plum", "red", "rose", "sienna", "tan", "violet")  # fmt: skip
#: Suppliers of each part.
SUPPLIERS_OF_A_PART = 4
FIRST_DAY, LAST_DAY, TODAY = date(1992, 1, 1), date(1998, 8, 2), date(1995, 6, 17)

Row = tuple[object, ...]


def build(path: Path, scale: float, seed: int = 1) -> None:
    """Make a database.

    Parameters
    ----------
    path
        The file; it must not be there.
    scale
        Scale factor: 1 has six million lines of orders; 0.01, about 14 MB.
    seed
        Another gives other values.
    """
    random = Random(seed)
    database = sqlite3.connect(path)
    database.executescript("pragma journal_mode=off; pragma synchronous=off; pragma page_size=4096;" + SCHEMA)
    counts = {name: max(int(count * scale), least) for name, (count, least) in SIZES.items()}

    def fill(table: str, rows: Iterator[Row]) -> None:
        first = next(rows)
        marks = ", ".join("?" * len(first))
        database.execute(f"insert into {table} values({marks})", first)
        database.executemany(f"insert into {table} values({marks})", rows)

    fill("region", iter(enumerate(REGIONS)))
    fill("nation", ((number, name, region) for number, (name, region) in enumerate(NATIONS)))
    fill("supplier", (supplier(random, number) for number in range(1, counts["supplier"] + 1)))
    fill("customer", (customer(random, number) for number in range(1, counts["customer"] + 1)))
    fill("part", (part(random, number) for number in range(1, counts["part"] + 1)))
    fill("partsupp", supplied(random, counts))
    orders = [order(random, number, counts) for number in range(1, counts["orders"] + 1)]
    fill("orders", (head for head, _ in orders))
    fill("lineitem", (line for _, lines in orders for line in lines))
    database.commit()
    database.execute("analyze")
    database.commit()
    database.close()


#: Rows at scale 1, and at least.
SIZES = {"supplier": (10_000, 20), "customer": (150_000, 50), "part": (200_000, 50), "orders": (1_500_000, 100)}


def words(random: Random, special: str) -> str:
    """Return some words, and now and then those that a query looks for."""
    return special if random.random() < 0.01 else " ".join(random.choices(PAINTS, k=random.randint(3, 8)))


def phone(random: Random, nation: int) -> str:
    """Return a number that begins with the code of a nation."""
    return f"{nation + 10}-{random.randint(100, 999)}-{random.randint(100, 999)}-{random.randint(1000, 9999)}"


def supplier(random: Random, number: int) -> Row:
    """Draw a supplier."""
    nation, balance = random.randrange(len(NATIONS)), round(random.uniform(-999.99, 9999.99), 2)
    said = words(random, "Customer Complaints")
    return number, f"Supplier#{number:09}", words(random, ""), nation, phone(random, nation), balance, said


def customer(random: Random, number: int) -> Row:
    """Draw a customer."""
    nation, balance = random.randrange(len(NATIONS)), round(random.uniform(-999.99, 9999.99), 2)
    name, segment = f"Customer#{number:09}", random.choice(SEGMENTS)
    return number, name, words(random, ""), nation, phone(random, nation), balance, segment, words(random, "")


def part(random: Random, number: int) -> Row:
    """Draw a part."""
    maker = random.randint(1, 5)
    kind, holder = (" ".join(random.choice(each) for each in parts) for parts in (TYPES, CONTAINERS))
    name, brand = " ".join(random.sample(PAINTS, 5)), f"Brand#{maker}{random.randint(1, 5)}"
    return number, name, f"Manufacturer#{maker}", brand, kind, random.randint(1, 50), holder, price(number)


def price(part_number: int) -> float:
    """Return the price of a part."""
    return (90_000 + part_number // 10 % 20_001 + 100 * (part_number % 1000)) / 100


def suppliers_of(part_number: int, suppliers: int) -> list[int]:
    """Return the suppliers of a part."""
    step = max(suppliers // SUPPLIERS_OF_A_PART, 1)
    return [(part_number + each * step) % suppliers + 1 for each in range(SUPPLIERS_OF_A_PART)]


def supplied(random: Random, counts: dict[str, int]) -> Iterator[Row]:
    """Draw what suppliers have of each part."""
    for of in range(1, counts["part"] + 1):
        for each in suppliers_of(of, counts["supplier"]):
            yield of, each, random.randint(1, 9999), round(random.uniform(1, 1000), 2)


def order(random: Random, number: int, counts: dict[str, int]) -> tuple[Row, list[Row]]:
    """Draw an order and its lines; a third of the customers never order."""
    buyer = random.randint(1, counts["customer"])
    buyer -= buyer % 3 == 0
    ordered = FIRST_DAY + timedelta(days=random.randrange((LAST_DAY - FIRST_DAY).days - 150))
    lines = [line(random, number, place, ordered, counts) for place in range(1, random.randint(1, 7) + 1)]
    states = {str(each[9]) for each in lines}
    total = round(sum(float(str(each[5])) for each in lines), 2)
    state = states.pop() if len(states) == 1 else "P"
    said = words(random, "special packages requests")
    return (number, buyer, state, total, ordered.isoformat(), random.choice(PRIORITIES), 0, said), lines


def line(random: Random, number: int, place: int, ordered: date, counts: dict[str, int]) -> Row:
    """Draw a line of an order."""
    of = random.randint(1, counts["part"])
    seller = random.choice(suppliers_of(of, counts["supplier"]))
    quantity = random.randint(1, 50)
    shipped = ordered + timedelta(days=random.randint(1, 121))
    promised = ordered + timedelta(days=random.randint(30, 90))
    received = shipped + timedelta(days=random.randint(1, 30))
    returned = random.choice("RA") if received <= TODAY else "N"
    days = (each.isoformat() for each in (shipped, promised, received))
    how = random.choice(INSTRUCTIONS), random.choice(SHIP_MODES)
    sums = quantity * price(of), random.randint(0, 10) / 100, random.randint(0, 8) / 100
    state = "O" if shipped > TODAY else "F"
    return number, of, seller, place, quantity, *sums, returned, state, *days, *how


def queries() -> list[str]:
    """Return the queries in their order."""
    text = Path(__file__).with_name("queries.sql").read_text()
    return [each.strip() for each in text.split(";") if "select" in each]


def waits_ms(database: Path, query: str, cache_kib: int) -> Waits:
    """Ask a query of each device, twice; the answer has to be that of the plain file."""
    plain = apsw.Connection(str(database))
    expected = plain.execute(query).fetchall()
    plain.close()
    found: Waits = {}
    for device in DEVICES:
        with connect(database, device, cache_kib=cache_kib) as connection:
            for _ in range(2):
                assert connection.execute(query).fetchall() == expected
            cold, warm = list(connection.statements)[-2:]
            assert connection.statements.time_ns == connection.now_ns
            found[device] = cold.time_ms, warm.time_ms
    return found


def table(found: list[Waits], *, warm: bool) -> Table:
    """Return a row for each query, and their sums."""
    rows = [[str(place), *(number(waits[each][warm]) for each in DEVICES)] for place, waits in enumerate(found, 1)]
    rows.append(["all", *(number(sum(waits[each][warm] for waits in found)) for each in DEVICES)])
    return Table(("query", *DEVICES), rows, f"Waiting for storage, ms, {'warm' if warm else 'cold'}")


def plot(found: list[Waits], path: str) -> None:
    """Draw what each query waits, cold and warm, one mark for each device."""
    alt = altair_library()
    rows = [
        {"query": place, "device": device, "wait": round(ms, 3), "cache": cache}
        for place, waits in enumerate(found, 1)
        for device, both in waits.items()
        for cache, ms in zip(("cold", "warm"), both, strict=True)
        if ms > 0
    ]
    chart = (
        alt.Chart(values(rows))
        .mark_point(filled=True, size=60)
        .encode(
            x=alt.X("query:O", title="Query", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("wait:Q", title="Waiting for storage (ms)", scale=alt.Scale(type="log")),
            color=alt.Color(
                "device:N", title=None, sort=None, scale=alt.Scale(domain=DEVICES, range=list(COLOURS[: len(DEVICES)]))
            ),
            shape=alt.Shape("device:N", title=None, sort=None, scale=alt.Scale(domain=DEVICES)),
            tooltip=["query:O", "device:N", "cache:N", alt.Tooltip("wait:Q", title="ms")],
        )
        .properties(width=520, height=200)
        .facet(row=alt.Row("cache:N", title=None, sort=["cold", "warm"]))
    )
    save(
        apply_style(chart, "22 queries on six devices", "What each waits for storage; what does not wait is not drawn"),
        path,
    )


def main() -> int:
    """Build the database, ask, and print."""
    parser = argparse.ArgumentParser(description="Ask the queries of TPC-H of six devices.")
    parser.add_argument("--scale", type=float, default=0.01, help="scale factor of the data; 0.01 is 9 MB")
    parser.add_argument("--cache-kib", type=int, default=2000, help="SQLite's own cache")
    parser.add_argument("--plot", metavar="FILE", help="draw it into this file (html, png, svg, json)")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        database = Path(folder) / "tpch.db"
        build(database, options.scale)
        found = [waits_ms(database, query, options.cache_kib) for query in queries()]
    print(table(found, warm=False), table(found, warm=True), sep="\n\n")
    if options.plot:
        plot(found, options.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
