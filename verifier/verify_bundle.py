#!/usr/bin/env python3
"""Verifies a bundle of one randomized study without the software that made it. docs/bundle.md describes the format.

    python3 verify_bundle.py BUNDLE.zip [--trust KEY]... [--checkpoint FILE]...

    --trust KEY        public key of the log (name+hash+base64), known to you from elsewhere than this bundle
    --checkpoint FILE  checkpoints kept elsewhere: signed notes, or receipts (a note in base64 on one line)

Exit codes   0  nothing wrong was found. What that proves, and what it does not, is printed: read it.
             1  something is wrong. The first divergence of each stream is printed.
             2  wrong usage, or not a bundle that this program can read
             3  as 0, but a signature was NOT CHECKED, since the package `cryptography` is not installed

Needs python3 and numpy; every random number comes from numpy's own PCG64 and Generator. Where a record is wrong, the
output can name treatments and generator states: it is not for blinded eyes, unless the bundle is a blinded one.
"""
import argparse, base64, hashlib, json, re, sys, uuid, zipfile, zlib
from types import SimpleNamespace as Named
import numpy
from numpy.random import PCG64, Generator

class Divergence(Exception):
    """A record is not what it should be."""

def expect(field, expected, found):
    if canonical(expected) != canonical(found):  # as JSON, because Python takes True for 1
        raise Divergence(f"field {field}\n    expected  {canonical(expected)}\n    found     {canonical(found)}")

# ---- Bytes, trees, checkpoints
def canonical(value):
    """RFC 8785. Python sorts names by code point; for the names that a log uses, that is the same order."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))

def parse(field, text):
    """Reads an object in canonical JSON without floats, and nothing else: what reads in two ways proves nothing."""
    value = json.loads(text.decode("utf-8"), parse_float=lambda number: None)
    expect(f"{field}: canonical JSON", True, type(value) is dict and canonical(value).encode("utf-8") == text)
    return value

def sha256(data):
    return hashlib.sha256(data).digest()

def append(peaks, size, leaf):
    """Adds a leaf to a Merkle tree (RFC 6962 §2.1), kept as the roots of its complete subtrees, the largest first."""
    while size % 2:  # as 1 is added to a binary number: every 1 at its end is carried
        leaf, size = sha256(b"\x01" + peaks.pop() + leaf), size // 2
    peaks.append(leaf)

def root_of(peaks):
    root = peaks[-1]
    for peak in reversed(peaks[:-1]):
        root = sha256(b"\x01" + peak + root)
    return root

def read_checkpoints(data, where, kept):
    """The checkpoints in a file (C2SP tlog-checkpoint and signed-note). `kept`: it did not come with the bundle."""
    receipt = re.compile(r"^[A-Za-z0-9+/]{120,}={0,2}$", re.MULTILINE)
    text = receipt.sub(lambda line: base64.b64decode(line[0]).decode("utf-8"), data.decode("utf-8"))
    note = re.compile(r"((?:[^\n]+\n){3,})\n((?:— [^ \n]+ [^ \n]+\n)+)")
    if note.sub("", text).strip():
        raise ValueError(f"{where} holds something else than signed checkpoints")
    for number, (body, signatures) in enumerate(note.findall(text), 1):
        origin, size, root = body.split("\n")[:3]
        yield Named(where=f"{where} number {number}, {origin}", kept=kept, origin=origin, size=int(size),
                    root=base64.b64decode(root), body=body.encode("utf-8"), signatures=signatures.splitlines())

def signature_of(checkpoint, keys):
    """Ed25519 over the note's text. A key (C2SP: name+key id+base64 of 0x01 and 32 bytes) goes by name and key id."""
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError:
        return "NOT CHECKED"
    verdict = "NOT SIGNED BY A TRUSTED KEY"
    for key, line in ((key.split("+", 2), line.split(" ")) for key in keys for line in checkpoint.signatures):
        code = base64.b64decode(line[2])
        if (line[1], code[:4].hex()) == (key[0], key[1]):
            try:
                Ed25519PublicKey.from_public_bytes(base64.b64decode(key[2])[1:]).verify(code[4:], checkpoint.body)
                verdict = "good"
            except Exception:  # the library has several for a signature that is wrong
                return "FORGED"
    return verdict

# ---- The method: docs/method.md
def add_up(terms):
    """From left to right, rounding after each term. Not sum(), which compensates for rounding since Python 3.12."""
    total = 0.0
    for term in terms:
        total = total + term
    return total

def imbalance(measure, balls):
    """The order of operations is part of the method: urns tie only if they are equal to the last bit."""
    if measure == "range":
        return (max(balls) - min(balls)) / sum(balls)
    shares = [held / sum(balls) for held in balls]
    mean = add_up(shares) / len(shares)
    if measure == "chisquare":
        return add_up((share - mean) * (share - mean) / mean for share in shares)
    return add_up((mean - share) * (mean - share) for share in shares) / (len(shares) - 1)

def state_of(generator):
    state = generator.bit_generator.state
    return {**state, "state": {name: str(number) for name, number in state["state"].items()}}

class Study:
    """What a study's records must say: every allocation is drawn again, if the content of the bundle is full."""
    def __init__(self, content, keys):
        self.content, self.keys, self.seen, self.next = content, keys, set(), ["StudyRegistered"]

    def take(self, record, sections):
        kind, data = record["type"], record["data"]
        expect(f"type: one of {self.next}", kind if kind in self.next else self.next[0], kind)
        self.next = ["StudyResumed"] if kind == "StudyPaused" else ["ParticipantRandomized", "StudyPaused"]
        if kind == "ParticipantRandomized":
            self.randomize(record, data, sections)
        if kind == "StudyRegistered":
            self.configuration = configuration = data["configuration"]
            stream = f"study-{uuid.uuid5(uuid.UUID(record['log']), configuration['name'])}"
            expect("stream, which follows from the study's name", stream, record["stream"])
            expect("data.algorithm", {"name": "wei-urn-method1-pcg64", "version": 1}, data["algorithm"])
            self.counts = {factor["name"]: {level: [0] * len(configuration["treatments"]) for level in factor["levels"]}
                           for factor in configuration["factors"]}
            if self.content == "full":  # the generator begins with this state, and runs through the whole study
                self.generator = Generator(PCG64(int(sections["generator"]["seed"])))
                expect("generator.bgState", state_of(self.generator), sections["generator"]["bgState"])

    def randomize(self, record, data, sections):
        levels, actor = {each["factor"]: each["level"] for each in data["levels"]}, record["actor"]
        expect("data.levels, factors", list(self.counts), [each["factor"] for each in data["levels"]])
        expect("data.levels: configured", True, all(level in self.counts[factor] for factor, level in levels.items()))
        expect("data.participantId: new", True, data["participantId"] not in self.seen)
        self.seen.add(data["participantId"])
        if self.keys is not None:  # the actor's key, as far as the `access` records in the bundle tell
            key, revision = self.keys.get(actor["keyId"], {}), actor["accessRevision"]
            expect("actor.user", key.get("user"), actor["user"])
            expect("actor.keyId: may randomize", True, "randomize" in key["scopes"])
            expect("actor.keyId: valid then", True, key["issued"] <= revision < key.get("revoked", revision + 1))
        if self.content == "full":
            self.draw_again(levels, sections["draw"], sections["allocation"]["treatment"])

    def draw_again(self, levels, recorded, treatment):
        configuration, generator = self.configuration, self.generator
        expect("draw.bgStateBefore", state_of(generator), recorded["bgStateBefore"])
        # 1. An urn for each of the participant's levels, filled from the participants before.
        w, alpha, beta = configuration["w"], configuration["alpha"], configuration["beta"]
        counts = {factor: self.counts[factor][level] for factor, level in levels.items()}
        balls = {factor: [w + alpha * n + beta * (sum(row) - n) for n in row] for factor, row in counts.items()}
        # 2. and 3. The most imbalanced of them; 4. one of those, by lot if there are several.
        imbalances = {factor: imbalance(configuration["D"], urn) for factor, urn in balls.items()}
        candidates = sorted(factor for factor, d in imbalances.items() if d == max(imbalances.values()))
        selected = candidates[int(generator.integers(len(candidates))) if len(candidates) > 1 else 0]
        # 5. A ball from it: the first treatment whose cumulative probability is above the uniform number.
        urn, uniform = balls[selected], generator.random()
        sums = [add_up(held / sum(urn) for held in urn[:k + 1]) for k in range(len(urn))]
        drawn = next(k for k, bound in enumerate(sums) if bound / sums[-1] > uniform)
        for field, expected in (("candidates", candidates), ("selectedFactor", selected), ("counts", counts[selected]),
                                ("balls", urn), ("uniform53", int(uniform * 2 ** 53))):
            expect(f"draw.{field}", expected, recorded[field])
        expect("allocation.treatment", configuration["treatments"][drawn], treatment)
        expect("draw.bgStateAfter", state_of(generator), recorded["bgStateAfter"])
        for row in counts.values():
            row[drawn] += 1

# ---- The bundle
def check_record(stream, revision, log_id, content, line):
    """What every record must be, whatever it says. Returns it, and the sections that the bundle has of it."""
    leaf, text, sealed = line[:-1].split(b"\t")
    expect("leaf", sha256(b"\x00" + text).hex(), leaf.decode())
    record, sections = parse("record", text), parse("sealed sections", sealed)
    for field, expected in (("stream", stream), ("revision", revision), ("version", 1), ("log", log_id)):
        expect(field, expected, record[field])
    disclosed = {"full": record["seals"], "open": ["allocation"], "blinded": []}[content] if "study-" in stream else []
    expect("names of sealed sections", sorted(set(disclosed) & set(record["seals"])), sorted(sections))
    for name, section in sections.items():
        expect(f"seals.{name}", sha256(canonical(section).encode("utf-8")).hex(), record["seals"][name])
    return record, sections

def read_stream(archive, name, log_id, content, sizes, take):
    """Checks one stream: its first divergence, if any, and its roots at the sizes of checkpoints."""
    peaks, stream = [], Named(name=name, size=0, withheld=0, sound=0, divergence=None, roots={}, kept=0, signed=0)
    for revision, line in enumerate(archive.open(f"records/{name}.txt")):
        leaf, text, *_ = line.split(b"\t") + [b""]
        is_withheld = name == "access" and text == b"" and re.fullmatch(b"[0-9a-f]{64}", leaf) is not None
        append(peaks, revision, bytes.fromhex(leaf.decode()) if is_withheld else sha256(b"\x00" + text))
        stream.size, stream.withheld = revision + 1, stream.withheld + is_withheld
        if stream.size in sizes:
            stream.roots[stream.size] = root_of(peaks)
        try:  # after a divergence only the tree is worked out: it still tells whether this is what was signed
            if stream.divergence is None and not is_withheld:
                take(*check_record(name, revision, log_id, content, line))
                stream.sound += 1
        except (Divergence, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as fault:
            stream.divergence = f"{name}, revision {revision}: {type(fault).__name__} in {fault}"
    return stream

def compare(checkpoint, log_name, streams):
    """What is wrong with a checkpoint, or with the bundle that it is held against; None if nothing is."""
    name = checkpoint.origin[len(log_name) + 1:]
    if checkpoint.origin != f"{log_name}/{name}":
        return "NOT OF THIS LOG"
    if checkpoint.signature in ("FORGED", "NOT SIGNED BY A TRUSTED KEY"):
        return checkpoint.signature
    stream = streams.get(name)  # checkpoints of streams that are not in the bundle prove nothing about it
    if stream and stream.roots.get(checkpoint.size) != checkpoint.root:
        here = "other records" if checkpoint.size in stream.roots else f"only {stream.size} records"
        return (f"{checkpoint.size} records were signed, but here are {here}: "
                f"the two histories part between revisions {stream.signed} and {checkpoint.size - 1}")
    if stream and checkpoint.signature == "good":
        stream.signed, stream.kept = checkpoint.size, checkpoint.size if checkpoint.kept else stream.kept

def take_key(issued, record):
    data, kind = record["data"], record["type"]
    if kind == "ApiKeyIssued":
        issued[data["keyId"]] = {**data, "issued": record["revision"]}
    else:
        expect("type", "ApiKeyRevoked", kind)
        issued[data["keyId"]].setdefault("revoked", record["revision"])

def hash_of(file):
    digest = hashlib.sha256()
    for line in file:
        digest.update(line)
    return digest.hexdigest()

def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle")
    parser.add_argument("--trust", action="append", default=[])
    parser.add_argument("--checkpoint", action="append", default=[])
    options = parser.parse_args()
    archive, issued, streams = zipfile.ZipFile(options.bundle), {}, {}
    manifest = json.loads(archive.read("manifest.json"))
    log = json.loads(archive.open("records/log.txt").readline().split(b"\t")[1])["data"]
    checkpoints = list(read_checkpoints(archive.read("checkpoints.txt"), "checkpoints.txt", False))
    for file in options.checkpoint:
        checkpoints += read_checkpoints(open(file, "rb").read(), file, True)
    keys = [key.strip() for key in options.trust] or [log["publicKey"]]
    failures = [] if log["publicKey"] in keys else [f"the log's key is not a trusted one, but {log['publicKey']}"]
    listed = {each["path"]: each["sha256"] for each in manifest["files"]}
    for path in sorted({*listed, *archive.namelist()} - {"manifest.json"}):
        if path not in archive.namelist() or hash_of(archive.open(path)) != listed.get(path):
            failures.append(f"{path} is not what manifest.json lists")
    study = Study(manifest["content"], issued)
    takers = {"log": lambda record, _: expect("type", "LogCreated", record["type"]),
              "access": lambda record, _: take_key(issued, record), manifest["study"]["stream"]: study.take}
    for name, take in takers.items():
        sizes = {each.size for each in checkpoints if each.origin.endswith(f"/{name}")}
        streams[name] = stream = read_stream(archive, name, log["logId"], manifest["content"], sizes, take)
        failures += [stream.divergence] if stream.divergence else []
        study.keys = None if streams["access" if name != "log" else name].divergence else issued
    for checkpoint in sorted(checkpoints, key=lambda checkpoint: checkpoint.size):
        checkpoint.signature = signature_of(checkpoint, keys)
        wrong = compare(checkpoint, log["logName"], streams)
        failures += [f"{checkpoint.where}, size {checkpoint.size}: {wrong}"] if wrong else []
    unchecked = sum(checkpoint.signature == "NOT CHECKED" for checkpoint in checkpoints)

    print(f"Study {manifest['study']['name']}, content {manifest['content']}, log {log['logName']}")
    for stream in streams.values():
        print(f"  {stream.name}: {stream.size} records, {stream.withheld} of them withheld")
        if stream.divergence:
            print(f"    sound up to revision {stream.sound - 1}; nothing is said about the records behind that")
        kept, signed = (stream.kept, stream.signed) if options.trust else (0, 0)
        for since, until, what in (
                (0, kept, "signed under the trusted key, by a checkpoint that was kept elsewhere: proven"),
                (kept, signed, "signed under the trusted key, but by checkpoints out of this bundle: they do not show "
                               "that nothing else was signed before"),
                (signed, stream.size, "no signed checkpoint under a trusted key covers them")):
            if since < until:
                print(f"    revisions {since} to {until - 1}: {what}")
    if study.content == "full":
        print(f"  {len(study.seen)} allocations: drawn again with numpy {numpy.__version__}")
    else:
        print("  The draws were NOT REPLAYED: that needs generator states, which this bundle does not hold.")
    for failure in failures:
        print(f"FAILED  {failure}")
    if unchecked:
        print(f"NOT CHECKED  the signatures of {unchecked} checkpoints: install the package `cryptography`")
    if not options.trust:
        print("SELF-CONSISTENT ONLY  no --trust KEY was given; a history written anew, under a key of its own, looks the same")
    print("RESULT  " + ("something is wrong" if failures else "nothing wrong was found"))
    return 1 if failures else 3 if unchecked else 0

if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, LookupError, TypeError, ValueError, zipfile.BadZipFile, zlib.error) as fault:
        print(f"This is not a bundle that can be read: {fault!r}", file=sys.stderr)
        sys.exit(2)
