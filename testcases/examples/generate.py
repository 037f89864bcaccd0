"""Generates the data files of the examples beside it: python3 generate.py. The seeds are fixed, so the files do not change."""

import csv
import json
import math
import random
import struct
import zlib
from datetime import datetime, timedelta
from pathlib import Path

HERE = Path(__file__).parent


def write_csv(name, header, rows):
    path = HERE / name
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def write_text(name, content):
    path = HERE / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)


def write_sales(rng):
    rows = []
    for i in range(160):
        price = round(rng.uniform(5, 2400), 2)
        shown = rng.choice([f"{price:.2f}", f"${price:,.2f}", f" {price:.2f} "])
        quantity = rng.choice(["1", "2", "3", "5", "8", " 4", "", "n/a"] + ["6"] * 4)
        rows.append([1000 + i, rng.choice(["lamp", "desk", "chair", "shelf"]), quantity, "" if rng.random() < 0.04 else shown])
    for row in rng.sample(rows, 14):
        rows.insert(rng.randrange(len(rows)), row)
    write_csv("sales-cleaning/sales.csv", ["order_id", "product", "quantity", "unit_price"], rows)


def write_regional_orders(rng):
    names = ["north", "south", "east", "west", "central"]
    rows = [[rng.choice(names), rng.choice(["web", "shop"]), rng.randrange(150, 90_000)] for _ in range(240)]
    write_csv("regional-totals/orders.csv", ["region", "channel", "cents"], rows)


def write_customer_orders(rng):
    names = ["Ada", "Bo", "Chidi", "Dana", "Emre", "Fay", "Goran", "Hana"]
    write_csv("customer-join/customers.csv", ["customer_id", "name"], [[f"C{i:02}", name] for i, name in enumerate(names)])
    rows = [[i, f"C{rng.randrange(len(names) + 3):02}", rng.randrange(5, 400)] for i in range(1, 121)]
    write_csv("customer-join/orders.csv", ["order_id", "customer_id", "amount"], rows)


def write_regression_points(rng):
    rows = []
    for _ in range(60):
        x = round(rng.uniform(0, 50), 2)
        rows.append([x, round(3.2 * x - 14.5 + (rng.random() - 0.5) * 18, 2)])
    write_csv("linear-regression/points.csv", ["x", "y"], rows)


def write_house_prices(rng):
    rows = []
    for _ in range(80):
        area, age = rng.randrange(40, 220), rng.randrange(0, 90)
        rows.append([area, age, round(38_000 + 2_150 * area - 640 * age + (rng.random() - 0.5) * 30_000)])
    write_csv("least-squares-numpy/houses.csv", ["area", "age", "price"], rows)


def write_server_log(rng):
    now, lines = datetime(2026, 3, 2, 6, 0, 0), []
    for _ in range(400):
        now += timedelta(seconds=rng.randrange(5, 90))
        status = rng.choice([200] * 12 + [304, 404, 500, 502, 503])
        path = rng.choice(["/", "/login", "/search?q=a b", "/cart", "/api/items"])
        lines.append(f'{now:%Y-%m-%dT%H:%M:%S} GET "{path}" {status} {rng.randrange(2, 900)}ms')
        if rng.random() < 0.06:
            lines.append("Traceback (most recent call last): connection 500 reset")
    write_text("log-errors/server.log", "\n".join(lines) + "\n")


def write_signups(rng):
    rows = []
    for i in range(90):
        day = datetime(2025, 1, 1) + timedelta(days=rng.randrange(365))
        rows.append([i, day.strftime(rng.choice(["%Y-%m-%d", "%d.%m.%Y", "%b %d, %Y"]))])
    write_csv("date-formats/signups.csv", ["user", "signed_up"], rows)


def write_waiting_times(rng):
    rows = [[round(rng.random() * 6 + rng.random() * 6 + rng.random() * 8, 1)] for _ in range(300)]
    write_csv("histogram-matplotlib/waits.csv", ["minutes"], rows)


def write_energy_sources(rng):
    rows = [[name, rng.randrange(20, 190)] for name in ["wind", "solar", "hydro", "gas", "coal", "waste"]]
    write_csv("bar-chart-svg/energy.csv", ["source", "twh"], rows)


def write_expenses(rng):
    rows = [[rng.choice(["travel", "food", "rent", "tools"]), f"{rng.uniform(3, 500):.2f}"] for _ in range(70)]
    write_csv("repair-failing-cell/expenses.csv", ["Category ", " Amount"], rows)


def write_temperatures(rng):
    rows = []
    for day in range(120):
        mean = 11 - 9 * math.cos(2 * math.pi * day / 120)
        rows.append([(datetime(2026, 1, 1) + timedelta(days=day)).date().isoformat(), round(mean + rng.uniform(-4, 4), 1)])
    write_csv("markdown-report/temperatures.csv", ["day", "celsius"], rows)


def write_student_scores(rng):
    write_csv("edit-and-delete/scores.csv", ["student", "score"], [[f"s{i:03}", rng.randrange(0, 101)] for i in range(150)])


def write_parcels(rng):
    rows = [[f"P{i:04}", round(rng.uniform(0.1, 30), 2), rng.choice(["A", "B", "C"])] for i in range(200)]
    write_csv("execute-code/parcels.csv", ["parcel", "kg", "zone"], rows)


def write_quarters(rng):
    level = {"books": 900, "games": 500, "music": 700, "film": 800}
    growth = {"books": 1.03, "games": 1.21, "music": 0.97, "film": 1.09}
    rows = []
    for q in range(8):
        for line, base in level.items():
            rows.append([f"{2024 + q // 4}Q{q % 4 + 1}", line, round(base * growth[line] ** q + rng.uniform(-40, 40))])
    write_csv("quarterly-growth/revenue.csv", ["quarter", "line", "revenue"], rows)


def write_warehouse(rng):
    moves = [{"sku": rng.choice("ABCDEF") * 2, "kind": rng.choice(["in", "in", "out"]), "units": rng.randrange(1, 40)} for _ in range(150)]
    write_text("kernel-inventory/moves.json", json.dumps(moves, indent=1) + "\n")


def write_photo(rng):
    width, height = 37, 23
    pixels = [[(x * 5 + y * 3 + rng.randrange(40)) % 256 for x in range(width)] for y in range(height)]

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    raw = b"".join(b"\0" + bytes(row) for row in pixels)
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b"")
    (HERE / "png-header").mkdir(exist_ok=True)
    (HERE / "png-header/photo.png").write_bytes(png)


def write_latencies(rng):
    rows = [[round(12 + rng.random() * 30 + rng.random() ** 4 * 60, 1)] for _ in range(400)]
    for _ in range(9):
        rows[rng.randrange(400)] = [round(rng.uniform(4_000, 30_000), 1)]
    write_csv("latency-percentiles/latency.csv", ["ms"], rows)


def write_shop_orders(rng):
    orders = []
    for i in range(25):
        items = [{"sku": f"S{rng.randrange(8)}", "qty": rng.randrange(1, 5), "price": {"amount": rng.randrange(100, 5000), "currency": rng.choice(["EUR", "EUR", "USD"])}} for _ in range(rng.randrange(0, 5))]
        order = {"number": i, "customer": {"name": f"c{rng.randrange(9)}", "address": {"country": rng.choice(["DE", "FR", "IT"])}}, "items": items}
        if rng.random() < 0.2:
            del order["customer"]["address"]
        orders.append(order)
    write_text("flatten-json/orders.json", json.dumps({"orders": orders}, indent=1) + "\n")


def write_mails(rng):
    names = [f"{first}@{host}" for first in ["ann", "bob", "cy", "di", "ed"] for host in ["x.org", "y.com"]]
    lines = [rng.choice([str, str.upper, str.title])(rng.choice(names)) + rng.choice(["", " ", "\t"]) for _ in range(60)]
    write_text("ordered-dedup/mails.txt", "\n".join(lines) + "\n")


def write_visits(rng):
    rows = [[rng.choice(["mon", "tue", "wed", "thu", "fri"]), rng.choice(["ads", "mail", "organic"]), rng.randrange(1, 500)] for _ in range(180)]
    write_csv("pivot-pandas/visits.csv", ["weekday", "source", "visits"], rows)


def write_sensor_readings(rng):
    now, lines = datetime(2026, 5, 1), []
    for _ in range(300):
        now += timedelta(minutes=rng.choice([5] * 20 + [10, 25, 40, 95]))
        lines.append(json.dumps({"at": now.isoformat(), "hpa": round(1013 + rng.uniform(-9, 9), 1)}))
    lines.insert(120, '{"at": "2026-05-0')
    lines.insert(200, "")
    write_text("sensor-gaps/sensor.jsonl", "\n".join(lines) + "\n")


def write_shipments(rng):
    names = ["north", "south", "west", "centre"]
    rows = [[1000 + i, rng.choice(names), round(rng.uniform(0.5, 40), 1), rng.randrange(300, 9000)] for i in range(150)]
    write_csv("reactive-dashboard/shipments.csv", ["id", "region", "kg", "cents"], rows)


def write_tides(rng):
    rows = []
    for hour in range(240):
        level = 180 + 140 * math.sin(2 * math.pi * hour / 12.4) + rng.uniform(-12, 12)
        rows.append([(datetime(2026, 4, 1) + timedelta(hours=hour)).isoformat(), round(level)])
    write_csv("clean-rerun/tides.csv", ["at", "cm"], rows)


def write_crates(rng):
    write_csv("box-plan/crates.csv", ["crate", "kg"], [[f"K{i:02}", rng.randrange(2, 15)] for i in range(24)])


def write_commits(rng):
    topics = ["parser", "cache", "docs", "build"]
    lines = []
    for i in range(30):
        kind = rng.choice(["fix", "fix", "feat", "chore"])
        lines.append(f"{rng.randrange(16**7):07x} {kind}({rng.choice(topics)}): change {i} by {rng.choice(['mira', 'tom', 'yuki'])}")
    write_text("release-note/commits.txt", "\n".join(lines) + "\n")


def write_complaints(rng):
    days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"]
    rows = [[rng.choice(days), rng.choice(["late", "late", "late", "broken", "wrong item"]), rng.randrange(1, 9)] for _ in range(80)]
    write_csv("judged-summary/complaints.csv", ["day", "reason", "severity"], rows)


GENERATORS = [
    write_sales,
    write_regional_orders,
    write_customer_orders,
    write_regression_points,
    write_house_prices,
    write_server_log,
    write_signups,
    write_waiting_times,
    write_energy_sources,
    write_expenses,
    write_temperatures,
    write_student_scores,
    write_parcels,
    write_quarters,
    write_warehouse,
    write_photo,
    write_latencies,
    write_shop_orders,
    write_mails,
    write_visits,
    write_sensor_readings,
    write_shipments,
    write_tides,
    write_crates,
    write_commits,
    write_complaints,
]

for seed, generate in enumerate(GENERATORS):
    generate(random.Random(seed))
