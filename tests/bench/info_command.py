#!/usr/bin/env python3
"""info_command.py RONDO: runs `rondo info`, and compares what it says with what the system says."""

import json
import os
import resource
import subprocess
import sys

RONDO = sys.argv[1]
BACKENDS = ["ring", "mpi", "jaccl", "nccl", "tcp", "shm", "sim"]
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("RONDO_")}


def run(*words, **variables):
    return subprocess.run([RONDO, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                          env={**CLEAN, **variables})


def document(**variables):
    done = run("info", "--json", **variables)
    expect(done.returncode == 0 and done.stderr == "", done)
    return json.loads(done.stdout)


def expect(condition, *what):
    if not condition:
        raise AssertionError(what)


def sections():
    info = document()
    expect(list(info) == ["rondo", "compiler", "system", "backends", "settings", "cores", "topology", "interfaces", "limits",
                          "selection"], list(info))
    expect(info["system"]["host"] == os.uname().nodename, info["system"])
    backends = {each["name"]: each for each in info["backends"]}
    expect(sorted(backends) == sorted(BACKENDS), backends)
    for name in ("tcp", "shm", "sim"):
        expect(backends[name]["available"] is True and backends[name]["reason"] is None, backends)
    for each in backends.values():
        expect(each["available"] == (each["reason"] is None), each)
    expect(info["cores"]["affinity"] == len(os.sched_getaffinity(0)), info["cores"])
    expect(1 <= info["cores"]["usable"] <= info["cores"]["affinity"], info["cores"])
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    expect(info["limits"]["open descriptors"] == {"soft": soft, "hard": hard}, info["limits"])
    if os.path.isdir("/dev/shm"):
        space = os.statvfs("/dev/shm")
        expect(info["limits"]["/dev/shm"]["bytes"] == space.f_blocks * space.f_frsize, info["limits"])
    expect(info["topology"]["hardware threads"] >= 1 and len(info["topology"]["numa nodes"]) >= 1, info["topology"])
    addresses = info["interfaces"]["addresses"]
    expect(any(each["loopback"] and each["address"] == "127.0.0.1" for each in addresses), addresses)


def settings():
    plain = {each["name"]: each for each in document()["settings"]}
    expect(all(name.startswith("RONDO_") and each["origin"] == "default" for name, each in plain.items()), plain)
    expect(plain["RONDO_TIMEOUT"]["value"] == "60s" and plain["RONDO_RANK"]["value"] is None, plain)
    given = {each["name"]: each for each in document(RONDO_TIMEOUT="1500ms", RONDO_SIZE="x7", RONDO_LOG="warn")["settings"]}
    expect(list(given) == list(plain), given)
    expect(given["RONDO_TIMEOUT"] == {"name": "RONDO_TIMEOUT", "value": "1.5s", "origin": "environment"}, given)
    expect(given["RONDO_LOG"]["origin"] == "environment", given)  # although it is the default's value
    expect("no job is described" not in str(plain), plain)
    odd = {each["name"]: each for each in document(RONDO_RANK="7", RONDO_SIZE="2", RONDO_TIMOUT="5s")["settings"]}
    expect(list(odd) == [*plain, "RONDO_TIMOUT"], odd)
    expect(odd["RONDO_TIMOUT"]["value"] == "5s" and odd["RONDO_TIMOUT"]["error"] == "no setting has this name", odd)
    expect("the rank must be less than the size" in odd["RONDO_RANK"]["error"], odd)
    lone = {each["name"]: each for each in document(RONDO_RANK="0", RONDO_SIZE="2")["settings"]}
    expect(lone["RONDO_RENDEZVOUS"]["error"] == "no job is described: RONDO_RENDEZVOUS is not set", lone)
    expect(given["RONDO_SIZE"]["value"] == "x7" and "expected a whole number" in given["RONDO_SIZE"]["error"], given)


def interfaces():
    told = document(RONDO_INTERFACE="127.0.0.0/8")["interfaces"]
    expect(told["told to others"].startswith("127.") and told["because"] == "RONDO_INTERFACE chooses it", told)
    for each in told["addresses"]:
        expect(each["allowed"] == each["address"].startswith("127."), each)
    wrong = document(RONDO_INTERFACE="no_such_name")["interfaces"]
    expect("no_such_name" in wrong["error"] and "told to others" not in wrong, wrong)
    routed = document(RONDO_RENDEZVOUS="127.0.0.1:4000")["interfaces"]
    expect(routed["told to others"] == "127.0.0.1" and "rendezvous" in routed["because"], routed)


def selection():
    rows = document()["selection"]
    for name in ("all_reduce", "all_gather", "all_to_all", "barrier", "broadcast", "gather", "reduce", "reduce_scatter", "scatter"):
        mine = [row for row in rows if row["collective"] == name]
        expect(mine and mine[-1]["most bytes"] is None and mine[-1]["most ranks"] is None, name, mine)
        expect(mine[0]["least ranks"] == 2, mine)
    flat = [row for row in rows if row["algorithm"] == "flat"]
    expect(flat and all(row["shared memory"] is True for row in flat), flat)


def text():
    done = run("info")
    expect(done.returncode == 0 and done.stderr == "", done)
    for title in ("System", "Backends", "Settings", "Cores", "Topology", "Interfaces", "Limits", "Selection of algorithms"):
        expect("\n" + title in done.stdout, title, done.stdout)
    expect("RONDO_TIMEOUT" in done.stdout and "60s (default)" in done.stdout, done.stdout)
    done = run("info", "--all")
    expect(done.returncode == 2 and 'rondo info: unknown option: "--all"' in done.stderr, done)
    done = run("info", "--json=3")
    expect(done.returncode == 2 and "rondo info: --json takes no value" in done.stderr, done)
    done = run("inform")
    expect(done.returncode == 2 and 'no command "inform"; there are run, bench, info and op' in done.stderr, done)
    done = run("info", "--help")
    expect(done.returncode == 0 and done.stdout.startswith("rondo info - "), done)
    under = run("run", "-n", "1", "--no-prefix", "--", RONDO, "info", "--json")
    expect(under.returncode == 0, under)
    expect({each["name"]: each["value"] for each in json.loads(under.stdout)["settings"]}["RONDO_SIZE"] == "1", under)


for test in (sections, settings, interfaces, selection, text):
    test()
    print("passed:", test.__name__)
