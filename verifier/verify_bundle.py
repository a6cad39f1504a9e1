#!/usr/bin/env python3
"""Verifies a bundle of one randomized study without the software that made it. docs/bundle.md describes the format.
    python3 verify_bundle.py BUNDLE.zip [--trust KEY]... [--checkpoint FILE]...
    --trust KEY        public key of the log (name+hash+base64), known to you from elsewhere than this bundle
    --checkpoint FILE  checkpoints kept elsewhere: signed notes, or receipts (a note in base64 on one line)
Exit codes: 0 nothing wrong was found, and what that proves is printed; 1 something is wrong; 2 nothing was verified:
wrong usage, no numpy, no bundle; 3 as 0, but a signature was NOT CHECKED: the package `cryptography` is missing.
Every random number comes from numpy's own PCG64 and Generator. The output is not for blinded eyes, unless the bundle is.
"""
import argparse, base64, functools, hashlib, json, re, sys, types, uuid, zipfile
class Divergence(Exception): """A record is not what it should be."""
clean = lambda text: "".join(each if each.isprintable() else "?" for each in str(text))  # names may hold line breaks
def expect(field, wanted, found):
    if canonical(wanted) != canonical(found):  # as JSON, because Python takes True for 1
        raise Divergence(f"field {field}\n    expected  {clean(canonical(wanted))}\n    found     {clean(canonical(found))}")
def canonical(value):  # RFC 8785. Python sorts names by code point; for the names that a log uses, that is the same
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
def parse(field, text):  # canonical JSON without floats, and nothing else: what reads in two ways proves nothing
    value = json.loads(text.decode("utf-8"), parse_float=lambda number: None, parse_constant=lambda name: None,
                       parse_int=lambda digits: int(digits) if len(digits) < 18 and abs(int(digits)) < 2 ** 53 else None)
    expect(f"{field}: canonical JSON", True, type(value) is dict and canonical(value).encode("utf-8") == text)
    return value
sha256 = lambda data: hashlib.sha256(data).digest()
def append(peaks, size, leaf):
    """Adds a leaf to a Merkle tree (RFC 6962 §2.1), kept as the roots of its complete subtrees, the largest first."""
    while size % 2:  # as 1 is added to a binary number: every 1 at its end is carried
        leaf, size = sha256(b"\x01" + peaks.pop() + leaf), size // 2
    peaks.append(leaf)
root_of = lambda peaks: functools.reduce(lambda right, left: sha256(b"\x01" + left + right), reversed(peaks))
def read_checkpoints(data, where, kept, log_name):
    """The checkpoints in a file (C2SP tlog-checkpoint and signed-note). `kept`: it did not come with the bundle."""
    text = re.sub("^[A-Za-z0-9+/]{120,}={0,2}$", lambda line: base64.b64decode(line[0]).decode("utf-8"),
                  data.decode("utf-8"), flags=re.MULTILINE)
    note = re.compile(r"([^\n\r]+\n(?:0|[1-9][0-9]{0,15})\n(?:[^\n\r]+\n)+)\n((?:— [^ \n\r]+ [^ \n\r]+\n)+)")
    expect(f"{where}, besides signed checkpoints", "", note.sub("", text).strip())
    for number, (body, signatures) in enumerate(note.findall(text), 1):
        origin, size, root = body.split("\n")[:3]
        place = re.fullmatch(re.escape(log_name) + "/([^/]+)(?:/([1-9][0-9]*))?", origin) or (None, None, None)
        yield types.SimpleNamespace(
            where=clean(f"{where} number {number}, {origin}"), kept=kept, stream=place[1], recovery=int(place[2] or 0),
            size=int(size), root=root, body=body.encode("utf-8"),
            signatures=[line.split(" ")[1:] for line in signatures.split("\n")[:-1]])
def signature_of(checkpoint, keys):  # Ed25519 over the note's text; a verifier key: name+key id+base64(0x01, 32 bytes)
    signed = [(base64.b64decode(key[2])[1:], base64.b64decode(code)[4:]) for name, code in checkpoint.signatures
              for key in keys if (name, base64.b64decode(code)[:4].hex()) == (key[0], key[1])]
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        for public, signature in signed:
            Ed25519PublicKey.from_public_bytes(public).verify(signature, checkpoint.body)
        return "good" if signed else "NOT SIGNED BY A TRUSTED KEY"
    except Exception as fault:  # the library has several for a signature that is wrong
        return "NOT CHECKED" if isinstance(fault, ImportError) else "FORGED"
# ---- The method (docs/method.md). From left to right, rounding after each term; sum() compensates since Python 3.12.
add_up = lambda terms: functools.reduce(lambda total, term: total + term, terms, 0.0)
def imbalance(measure, balls):  # the order of operations is part of the method: urns tie if equal to the last bit
    if measure == "range":
        return (max(balls) - min(balls)) / sum(balls)
    shares = [held / sum(balls) for held in balls]
    mean = add_up(shares) / len(shares)
    squares = [(share - mean) * (share - mean) for share in shares]
    return add_up(d / mean for d in squares) if measure == "chisquare" else add_up(squares) / (len(shares) - 1)
state_of = lambda draws: {**(now := draws.bit_generator.state), "state": {name: str(n) for name, n in now["state"].items()}}
class Study:  # what its records must say: every allocation is drawn again, if the content of the bundle is full
    def __init__(self, content):
        self.content, self.configuration, self.next, self.drawn = content, None, ["StudyRegistered"], 0
        self.keys, self.seen, self.log_keys, self.recoveries = {}, set(), [], {"log": []}  # by stream: what was kept
        self.moves, self.closed = set(), {}  # what streams say of moves of the log; by stream: the move that closed it
    def take_move(self, record, kinds=("LogMoved", "LogReopened", "LogArrived", "CopyAborted")):
        """Whether a record is of a move of the log to another store: behind LogMoved nothing may follow but its end."""
        stream, kind, move = record["stream"], record["type"], record["data"].get("move")
        if (closed := self.closed.get(stream)) is None and kind not in kinds:
            return False
        begun = kinds[:1] if record["revision"] > 0 or stream == "access" else ()  # no other stream begins with it
        wanted = begun if closed is None else kinds[1:3 + (stream == "log")] if closed else ()
        expect(f"type: one of {wanted}", True, kind in wanted)
        expect("data.move", closed or move, move)
        is_of_log = stream == "log" or ("log", kind, move) in self.moves
        expect("data.move: new, and in log as here", True, is_of_log and (stream, kind, move) not in self.moves)
        self.moves.add((stream, kind, move))
        self.closed[stream] = {"LogMoved": move, "CopyAborted": ""}.get(kind)  # the latter for good
        return True
    def take_log(self, record, _):
        kind, data, known = record["type"], record["data"], ("LogRecovered", "SigningKeyRotated")
        expect("type", "LogCreated" if record["revision"] == 0 else kind if kind in known else " or ".join(known), kind)
        self.log_keys += [data["publicKey"].split("+", 2)] if "publicKey" in data else []
        for each in data.get("streams", []):  # no study: what is said of those is sealed, and stands in StudyRecovered
            self.recoveries.setdefault(each["stream"], []).append({**each, "recovery": data["recovery"]})
    def take_key(self, record, _):
        kind, data = record["type"], record["data"]
        expect("type", kind if kind == "ApiKeyIssued" else "ApiKeyRevoked", kind)
        since = {**data, "issued": record["revision"]} if kind == "ApiKeyIssued" else {"revoked": record["revision"]}
        self.keys[data["keyId"]] = {**since, **({} if kind == "ApiKeyIssued" else self.keys[data["keyId"]])}
    def take(self, record, sections):
        kind, data = record["type"], record["data"]
        if kind == "StudyRecovered" and self.configuration:  # the log lost records, so the generator begins anew
            expect("revision, behind the records that were kept", max(data["kept"], 1), record["revision"])
            ours, logs = ({r["recovery"] for r in self.recoveries.get(name, [])} for name in (record["stream"], "log"))
            expect("data.recovery: in log, and once", True, data["recovery"] in logs - ours)
            self.recoveries.setdefault(record["stream"], []).append(data)
            return self.begin(sections)
        expect(f"type: one of {self.next}", kind if kind in self.next else self.next[0], kind)
        self.next = ["StudyResumed"] if kind == "StudyPaused" else ["ParticipantRandomized", "StudyPaused"]
        {"StudyRegistered": self.register, "ParticipantRandomized": self.randomize}.get(kind, lambda *_: 0)(record, data, sections)
    def register(self, record, data, sections):
        self.configuration, arms = data["configuration"], len(data["configuration"]["treatments"])
        study_id = uuid.uuid5(uuid.UUID(record["log"]), self.configuration["name"])
        expect("stream, which follows from the study's name", f"study-{study_id}", record["stream"])
        expect("data.algorithm", {"name": "wei-urn-method1-pcg64", "version": 1}, data["algorithm"])
        self.counts = {factor["name"]: {level: [0] * arms for level in factor["levels"]} for factor in self.configuration["factors"]}
        self.begin(sections)
    def begin(self, sections):
        if self.content == "full":  # the generator begins with this state, and runs on from one allocation to the next
            self.generator = numpy.random.Generator(numpy.random.PCG64(int(sections["generator"]["seed"])))
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
            is_valid = key["issued"] <= revision < key.get("revoked", revision + 1) and "randomize" in key["scopes"]
            expect("actor.keyId: valid then, and may randomize", True, is_valid)
        if self.content != "full":
            return
        configuration, before, recorded = self.configuration, state_of(self.generator), sections["draw"]
        # 1. An urn for each of the participant's levels, filled from the participants before.
        w, alpha, beta = configuration["w"], configuration["alpha"], configuration["beta"]
        counts = {factor: self.counts[factor][level] for factor, level in levels.items()}
        balls = {factor: [w + alpha * n + beta * (sum(row) - n) for n in row] for factor, row in counts.items()}
        # 2. and 3. The most imbalanced of them; 4. one of those, by lot if there are several.
        imbalances = {factor: imbalance(configuration["D"], urn) for factor, urn in balls.items()}
        candidates = sorted(factor for factor, d in imbalances.items() if d == max(imbalances.values()))
        selected = candidates[int(self.generator.integers(len(candidates))) if len(candidates) > 1 else 0]
        # 5. A ball from it: the first treatment whose cumulative probability is above the uniform number.
        urn, uniform = balls[selected], self.generator.random()
        sums = [add_up(held / sum(urn) for held in urn[:k + 1]) for k in range(len(urn))]
        drawn = next(k for k, bound in enumerate(sums) if bound / sums[-1] > uniform)
        redrawn = {"bgStateBefore": before, "candidates": candidates, "selectedFactor": selected, "balls": urn,
                   "counts": counts[selected], "uniform53": int(uniform * 2 ** 53), "bgStateAfter": state_of(self.generator)}
        for field, expected in redrawn.items():
            expect(f"draw.{field}", expected, recorded[field])
        expect("allocation.treatment", configuration["treatments"][drawn], sections["allocation"]["treatment"])
        for row in counts.values():
            row[drawn] += 1
        self.drawn += 1
def check_record(stream, revision, log_id, content, line):  # what each must be, whatever it says; and its sections here
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
def read_stream(archive, name, log_id, content, sizes, take):  # its first divergence, and its roots at these sizes
    peaks, roots = [], {0: base64.b64encode(sha256(b"")).decode()}
    stream = types.SimpleNamespace(name=name, size=0, withheld=0, divergence=None, roots=roots, kept=0, signed=0)
    for revision, line in enumerate(archive.open(f"records/{name}.txt")):
        leaf, text, *_ = line.split(b"\t") + [b""]
        is_withheld = name == "access" and text == b"" and re.fullmatch(b"[0-9a-f]{64}", leaf) is not None
        append(peaks, revision, bytes.fromhex(leaf.decode()) if is_withheld else sha256(b"\x00" + text))
        stream.size, stream.withheld = revision + 1, stream.withheld + is_withheld
        roots.update({stream.size: base64.b64encode(root_of(peaks)).decode()} if stream.size in sizes else {})
        try:  # after a divergence only the tree is worked out: it still tells whether this is what was signed
            if stream.divergence is None and not is_withheld:
                take(*check_record(name, revision, log_id, content, line))
        except Exception as fault:  # a Divergence, or whatever comes of a record that is none
            why = fault if isinstance(fault, Divergence) else clean(fault)
            stream.divergence = f"{clean(name)}, revision {revision}: {type(fault).__name__} in {why}"
    return stream
def compare(checkpoint, streams, study, keys):
    """What is wrong with a checkpoint, or with the bundle that it is held against; None if nothing is."""
    signature = signature_of(checkpoint, keys) if checkpoint.stream else "NOT OF THIS LOG"
    if signature not in ("good", "NOT CHECKED"):
        return signature
    for each in study.recoveries.get(checkpoint.stream, []):
        if checkpoint.recovery < each["recovery"] and checkpoint.size > each["kept"]:
            most = tuple(each.get("signed", {}).get(name, 0) for name in ("recovery", "size", "root"))
            is_known = (here := (checkpoint.recovery, checkpoint.size, checkpoint.root)) == most or here[:2] < most[:2]
            return f"{'' if is_known else 'UN'}DECLARED LOSS: recovery {each['recovery']} kept {each['kept']} records"
    if checkpoint.recovery > max(each["recovery"] for each in [{"recovery": 0}, *study.recoveries["log"]]):
        return "OF A RECOVERY that this log does not record"
    stream = streams.get(checkpoint.stream)  # those of streams that are not in the bundle prove nothing about it
    if stream and stream.roots.get(checkpoint.size) != checkpoint.root:
        here = "other records" if checkpoint.size in stream.roots else f"only {stream.size} records"
        return (f"{checkpoint.size} records were signed, but here are {here}: "
                f"the two histories part between revisions {stream.signed} and {checkpoint.size - 1}")
    if stream and signature == "good":
        stream.signed, stream.kept = checkpoint.size, checkpoint.size if checkpoint.kept else stream.kept
def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle")
    [parser.add_argument(option, action="append", default=[]) for option in ("--trust", "--checkpoint")]
    options = parser.parse_args()
    archive, streams, failures = zipfile.ZipFile(options.bundle), {}, []
    manifest = json.loads(archive.read("manifest.json"))
    content = {"urn-bundle@1": manifest["content"]}[manifest["format"]]
    listed = {each["path"]: each["sha256"] for each in manifest["files"]}
    for path in sorted({*listed, *archive.namelist()} - {"manifest.json"}):
        digest = hashlib.sha256()
        [digest.update(line) for line in (archive.open(path) if path in archive.namelist() else ())]
        failures += [] if digest.hexdigest() == listed.get(path) else [f"{clean(path)} is not what manifest.json lists"]
    failures += [] if len(set(archive.namelist())) == len(archive.namelist()) else ["a file stands twice in the archive"]
    log, study = json.loads(archive.open("records/log.txt").readline().split(b"\t")[1])["data"], Study(content)
    notes = [("checkpoints.txt", archive.read("checkpoints.txt"), False)]
    notes += [(file, open(file, "rb").read(), True) for file in options.checkpoint]
    checkpoints = [each for name, data, kept in notes for each in read_checkpoints(data, name, kept, log["logName"])]
    takers = {"log": study.take_log, "access": study.take_key, manifest["study"]["stream"]: study.take}
    for name, take in takers.items():
        sizes = {each.size for each in checkpoints if each.stream == name}
        judge = lambda record, sections: study.take_move(record) or take(record, sections)
        streams[name] = read_stream(archive, name, log["logId"], content, sizes, judge)
        failures += [streams[name].divergence] if streams[name].divergence else []
        study.keys = None if name == "access" and streams[name].divergence else study.keys  # nobody can be judged then
    keys = [key.strip().split("+", 2) for key in options.trust] or study.log_keys
    failures += [] if any(k in keys for k in study.log_keys) else [f"the log's key is not trusted: {log['publicKey']}"]
    is_shown = study.configuration and json.loads(archive.read("configuration.json")) == study.configuration
    failures += [] if is_shown else ["configuration.json does not say what the study's first record says"]
    for each in sorted(checkpoints, key=lambda each: each.size):
        failures += [f"{each.where}, size {each.size}: {why}" for why in [compare(each, streams, study, keys)] if why]
    print(clean(f"Study {(study.configuration or {'name': '?'})['name']}, content {content}, log {log['logName']}"))
    for stream in streams.values():
        sound = "sound" if not stream.divergence else "sound before the divergence, and behind it not looked at"
        print(f"  {clean(stream.name)}: {stream.size} records, {stream.withheld} withheld, {sound}", *(
            f"RECOVERED from a backup behind the first {each['kept']}" for each in study.recoveries.get(stream.name, [])), sep=", ")
        kept, signed = (stream.kept, stream.signed) if options.trust else (0, 0)
        for since, until, what in ((0, kept, "as signed: by checkpoints that were kept elsewhere"),
                                   (kept, signed, "signed, but nothing kept elsewhere shows that they always were so"),
                                   (signed, stream.size, "covered by no checkpoint under a trusted key")):
            since < until and print(f"    revisions {since} to {until - 1}: {what}")
    print(f"  {study.drawn} allocations, drawn again with numpy {numpy.__version__}, are as recorded" if content == "full"
          else "  The draws were NOT REPLAYED: that needs generator states, which this bundle does not hold")
    unchecked = sum(signature_of(each, keys) == "NOT CHECKED" for each in checkpoints)
    print("".join(f"FAILED  {failure}\n" for failure in failures), end="")
    print(f"NOT CHECKED  {unchecked} signatures, without the package `cryptography`\n" if unchecked else "", end="")
    print("" if options.trust else "SELF-CONSISTENT ONLY  no --trust KEY was given: a rewritten history looks the same\n", end="")
    print("RESULT  " + ("something is wrong" if failures else "nothing wrong was found"))
    return 1 if failures else 3 if unchecked else 0
if __name__ == "__main__":
    try:
        import numpy.random  # here, because without it the exit code must not be 1
        getattr(sys, "set_int_max_str_digits", id)(0)  # seeds can have any length
        sys.exit(main())
    except Exception as fault:
        sys.exit(print(f"nothing was verified: {fault!r}", file=sys.stderr) or 2)
