#!/usr/bin/env python3
"""Makes life-histories.json, on standard output: studies with all that can happen to one, as records of the log.

    make-life-histories.py | diff - life-histories.json

Written from docs/event-log.md, docs/methods.md and docs/verifying.md. It shares no code with the service or with the
verifier of bundles; random numbers are numpy's. Seeds, salts, ids and times come from SHA-256 of a label, so every run makes the
same bytes. README.md describes the file.
"""
import base64
import copy
import hashlib
import itertools
import json
import math
import re
import sys
import uuid
from datetime import datetime, timedelta, timezone

import numpy

# The first test key of RFC 8032, section 7.1, which publishes both halves.
PRIVATE_KEY = '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60'
PUBLIC_KEY = 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a'

# An allocation from outside that is entered later than this is pointed out.
LATE = timedelta(days=7) // timedelta(milliseconds=1)
# How many rows back a state is looked for that an imported row was drawn from.
ROWS_BACK = 32
# Members of a design that are left out of the studies in which none of them ever changes.
OF_ARMS = ('treatments', 'slots', 'epoch', 'urn')
# A site replaces at most so many packs of one participant, and only while every arm has so many packs left for them.
REPLACEMENTS = 3
MARGIN = 3
# What is included in a bundle: all sections, the arms, none.
CONTENTS = ['full', 'open', 'blinded']


# Bytes

def canonical(value):
    """RFC 8785, for what a record may hold: no floats, and ASCII names of members."""
    return json.dumps(value, sort_keys=True, separators=(',', ':'), ensure_ascii=False, allow_nan=False)


def sha256(data):
    return hashlib.sha256(data).digest()


def leaf_hash(record):
    return sha256(b'\x00' + record.encode())


def root_hash(leaves):
    """RFC 6962, section 2.1."""
    if not leaves:
        return sha256(b'')
    if len(leaves) == 1:
        return leaves[0]
    k = 1
    while 2 * k < len(leaves):
        k *= 2
    return sha256(b'\x01' + root_hash(leaves[:k]) + root_hash(leaves[k:]))


def in_base64(data):
    return base64.b64encode(data).decode()


def verifier_key(name):
    typed = b'\x01' + bytes.fromhex(PUBLIC_KEY)
    key_id = sha256(name.encode() + b'\n' + typed)[:4].hex()
    return f'{name}+{key_id}+{in_base64(typed)}'


def instant(ms):
    return datetime.fromtimestamp(ms // 1000, timezone.utc).strftime('%Y-%m-%dT%H:%M:%S') + f'.{ms % 1000:03}Z'


def present(**members):
    """An optional member that is absent is left out."""
    return {name: value for name, value in members.items() if value is not None}


def milliseconds(text):
    whole = datetime.strptime(text[:19], '%Y-%m-%dT%H:%M:%S').replace(tzinfo=timezone.utc)
    return int(whole.timestamp()) * 1000 + int(text[20:23])


# The method

def saved(bits):
    state = bits.state
    return {
        'bit_generator': 'PCG64', 'has_uint32': int(state['has_uint32']), 'uinteger': int(state['uinteger']),
        'state': {name: str(state['state'][name]) for name in ('inc', 'state')},
    }


def restored(state):
    bits = numpy.random.PCG64()
    bits.state = {**state, 'state': {name: int(text) for name, text in state['state'].items()}}
    return bits


def left_to_right(numbers):
    """Not `sum`, which newer versions of Python compensate for rounding."""
    total = 0.0
    for number in numbers:
        total += number
    return total


def imbalance(measure, balls):
    total, arms = sum(balls), len(balls)
    if measure == 'range':
        return (max(balls) - min(balls)) / total
    parts = [b / total for b in balls]
    mean = left_to_right(parts) / arms
    if measure == 'chisquare':
        return left_to_right((f - mean) * (f - mean) / mean for f in parts)
    return left_to_right((mean - f) * (mean - f) for f in parts) / (arms - 1)


def balls_of(configuration, counts, beside=0):
    total = sum(counts) + beside
    w, alpha, beta = (configuration[name] for name in ('w', 'alpha', 'beta'))
    return [w + alpha * n + beta * (total - n) for n in counts]


def allocate(configuration, rows, state, is_sorted=False, beside=None):
    """`rows`: counts by arm in the urn of the participant's level of each factor, by the factor's name.

    @param is_sorted whether the imbalance is that of the balls in ascending order, as in version 2 of the algorithm
    @param beside by factor, how many `N` has of arms that are not in the rows: a mistake
    """
    urns = {factor: balls_of(configuration, counts, (beside or {}).get(factor, 0)) for factor, counts in rows.items()}
    imbalances = {factor: imbalance(configuration['D'], sorted(balls) if is_sorted else balls)
                  for factor, balls in urns.items()}
    most = max(imbalances.values())
    # Python compares texts by code point.
    candidates = sorted(factor for factor, d in imbalances.items() if d == most)
    bits = restored(state)
    numbers = numpy.random.Generator(bits)
    selected = candidates[int(numbers.integers(len(candidates)))] if len(candidates) > 1 else candidates[0]
    uniform = float(numbers.random())
    balls = urns[selected]
    total, sums, running = sum(balls), [], 0.0
    for b in balls:
        running += b / total
        sums.append(running)
    arm = next(k for k, value in enumerate(sums) if value / sums[-1] > uniform)
    return arm, {
        'bgStateBefore': state, 'bgStateAfter': saved(bits), 'candidates': candidates, 'selectedFactor': selected,
        'counts': list(rows[selected]), 'balls': balls, 'uniform53': int(uniform * 2**53),
    }


# The history of another system

def table_of(configuration, people):
    """How many there are by factor, level and arm.

    @param people their levels and arms
    """
    numbers = [[[0 for _ in configuration['treatments']] for _ in f['levels']] for f in configuration['factors']]
    for levels, arm in people:
        for factor, rows, level in zip(configuration['factors'], numbers, levels):
            rows[factor['levels'].index(level)][arm] += 1
    return numbers


def draw_for(configuration, levels, counts, state):
    places = [f['levels'].index(level) for f, level in zip(configuration['factors'], levels)]
    rows = {f['name']: table[place] for f, table, place in zip(configuration['factors'], counts, places)}
    return allocate(configuration, rows, state)


EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class OtherSystem:
    """Makes rows as the reference does, in the order of their instants, and with all that may have gone wrong there.

    A row is `id`, `levels`, `arm`, `state` (or nothing), `instant` in microseconds, `datetime`, `user` and, at the end,
    `row`, its number in the file.
    """

    def __init__(self, history, seed, began='2025-11-03T07:59:59.999999', form='%Y-%m-%d %H:%M:%S.%f'):
        self.history = history
        self.configuration = history.in_force()
        self.began = saved(numpy.random.PCG64(seed))
        self.form = form
        self.now = datetime.fromisoformat(began).replace(tzinfo=timezone.utc)
        self.rows = []
        # Behind each row, whether the row shows it or not.
        self.states = []

    def draw(self, *participants, back=1, missed=0, outcome=None, state=None, is_shown=True, levels=None,
             at=None, form=None, offset=0, user='dummy'):
        """
        @param back the row whose state was read: the last one, or one before it; all rows and one more is the seed
        @param missed how many of the last rows were not counted yet
        @param outcome 'override': an arm that was not drawn
        @param state another one to draw from
        @param at the instant of the row, if it does not follow the one before
        @param form of the instant, and the offset in minutes that it is written with
        """
        for participant in participants:
            behind = len(self.rows) - back
            before = state or (self.states[behind] if behind >= 0 else self.began)
            counted = len(self.rows) - missed
            chosen = levels or self.levels_for(participant, before, behind + 1, counted)
            arm, draw = draw_for(self.configuration, chosen, self.counts(counted), before)
            if outcome == 'override':
                arm = (arm + 1) % len(self.configuration['treatments'])
            self.states.append(draw['bgStateAfter'])
            self.add(participant, chosen, arm, draw['bgStateAfter'] if is_shown else None, at, form, offset, user)

    def enter(self, participant, arm, levels, at=None, form=None, offset=0, user='monitor'):
        """Without a draw, and without a state."""
        self.states.append(self.states[-1] if self.states else self.began)
        self.add(participant, levels, arm, None, at, form, offset, user)

    def add(self, participant, levels, arm, state, at, form, offset, user):
        if at:
            self.now = datetime.fromisoformat(at).replace(tzinfo=timezone.utc)
        local = self.now.astimezone(timezone(timedelta(minutes=offset)))
        self.rows.append({
            'id': participant, 'levels': levels, 'arm': arm, 'state': state, 'user': user,
            'instant': (self.now - EPOCH) // timedelta(microseconds=1), 'datetime': local.strftime(form or self.form)})
        self.now += timedelta(microseconds=1 + self.history.number(f'row {participant}', 10**11))

    def at_once(self):
        """The next row has the instant of the last one."""
        self.now = EPOCH + timedelta(microseconds=self.rows[-1]['instant'])

    def counts(self, size):
        return table_of(self.configuration, [(row['levels'], row['arm']) for row in self.rows[:size]])

    def levels_for(self, participant, state, first, counted):
        """If others were counted than went with the state: levels at which that gives another arm, if there are any."""
        for attempt in range(50):
            levels = [
                f['levels'][self.history.number(f'row {participant} {attempt} {f["name"]}', len(f['levels']))]
                for f in self.configuration['factors']]
            arms = [draw_for(self.configuration, levels, self.counts(size), state)[0] for size in (first, counted)]
            if first == counted or arms[0] != arms[1]:
                break
        return levels

    def file(self, is_shuffled=False):
        """The rows in order, with their numbers. Rows of one instant stand in the file in the order they are in."""
        numbers = list(range(len(self.rows)))
        if is_shuffled:
            numbers.sort(key=lambda n: self.history.digest(f'place {n}'))
        for _, same in itertools.groupby(range(len(self.rows)), key=lambda n: self.rows[n]['instant']):
            places = list(same)
            for place, number in zip(places, sorted(numbers[place] for place in places)):
                numbers[place] = number
        return [{**row, 'row': number + 1} for row, number in zip(self.rows, numbers)]


def proof_of(configuration, rows, slots, place, seed_state, is_right):
    """@param slots those of the rows before
    @param is_right whether the row can have a slot
    @returns the draw that gives the arm and the state of the row, or nothing, and why there is none
    """
    row = rows[place]
    if not row['state']:
        return None, 'no-state'
    people = [(each['levels'], slot) for each, slot in zip(rows, slots)]
    # How many rows there were: before the first, then up to each of the last ones.
    sizes = [0, *range(max(place - ROWS_BACK, 0) + 1, place + 1)]
    known = [(size, rows[size - 1]['state'] if size else seed_state) for size in reversed(sizes)]
    known = [(size, state) for size, state in known if state]
    fits = False
    for size, state in known:
        for counted in sizes[sizes.index(size):]:
            slot, draw = draw_for(configuration, row['levels'], table_of(configuration, people[:counted]), state)
            if draw['bgStateAfter'] == row['state']:
                if is_right(slot):
                    return {**draw, 'slot': slot}, None
                fits = True
    return None, 'override' if fits else 'differs' if known else 'first'


# The design

def approval(name, role, on, reference=None):
    return present(name=name, role=role, on=on, reference=reference)


RUIZ = approval('Dr. A. Ruiz', 'sponsor', '2026-02-27', 'Amendment 3')
BOARD = approval('Prof. Ł. Żak', 'chair of the DSMB', '2024-02-29')
TOO_EARLY = 'recorded before the day of its approval has begun anywhere on earth'


def approved_next_day(history):
    return approval('A', 'sponsor', history.latest_day(1))


def added(factor, level):
    return {'kind': 'level-added', 'factor': factor, 'level': level}


def closed(factor, level):
    return {'kind': 'level-closed', 'factor': factor, 'level': level}


def reopened(factor, level):
    return {'kind': 'level-reopened', 'factor': factor, 'level': level}


def renamed(factor, level, to, alias=None):
    return present(kind='level-renamed', factor=factor, level=level, to=to, alias=alias)


def setting(kind, value=None):
    """The limits, the pattern of ids, the target or the blinding; without a value there is none from here on."""
    return present(kind=kind, value=value)


def policy(name, value):
    return {'kind': 'policy', 'name': name, 'value': value}


def arm_closed(treatment):
    return {'kind': 'arm-closed', 'treatment': treatment}


def arm_reopened(treatment):
    return {'kind': 'arm-reopened', 'treatment': treatment}


def arm_added(treatment, ratio=None):
    return present(kind='arm-added', treatment=treatment, ratio=ratio)


def urn(**numbers):
    return {'kind': 'urn', **numbers}


def ratio_of(*numbers):
    return {'kind': 'ratio', 'value': list(numbers)}


def retired(factor):
    return {'kind': 'factor-retired', 'factor': factor}


def touches_urns(change):
    return change['kind'].startswith(('level-', 'arm-')) or change['kind'] in ('urn', 'ratio', 'factor-retired')


class Level:
    """A level stays the same whatever it is called, and stays in its place."""

    def __init__(self, name):
        self.name = name
        # In the order in which they were given up last.
        self.earlier_names = []
        self.aliases = []
        self.is_closed = False
        # The revision of its last renaming or reopening.
        self.since = 0

    def was_ever_called(self, name):
        return name == self.name or name in self.earlier_names

    def rename(self, to, is_alias):
        earlier = [*self.earlier_names, self.name]
        aliases = [*self.aliases, self.name] if is_alias else self.aliases
        self.name = to
        self.earlier_names = [name for name in earlier if name != to]
        self.aliases = [name for name in aliases if name != to]


def slots_of(ratio):
    return [arm for arm, number in enumerate(ratio) for _ in range(number)]


class Design:
    """What is in force of the registration and of all amendments since."""

    def __init__(self, configuration):
        self.amendment = 0
        self.names = [f['name'] for f in configuration['factors']]
        self.levels = [[Level(name) for name in f['levels']] for f in configuration['factors']]
        self.blinding = configuration.get('blinding', 'open')
        # From here on, the blinding decides no policy any more.
        self.policies = {
            'stopAtLimit': False, 'voidCounts': 'kept', 'forcedCounts': 'counted',
            'levelCounts': 'as-corrected' if self.blinding == 'blinded' else 'as-randomized',
            **configuration.get('policies', {})}
        self.id_pattern = configuration.get('idPattern')
        self.target = configuration.get('targetEnrollment')
        self.protocol = configuration.get('protocol')
        self.treatments = list(configuration['treatments'])
        self.closed_arms = set()
        # The place of the treatment of each slot.
        self.slots = slots_of(configuration.get('ratio', [1 for _ in self.treatments]))
        self.urn = {name: configuration[name] for name in ('w', 'alpha', 'beta', 'D')}
        self.retired = set()
        self.epoch = 0
        # The urns count nobody whose revision is not a later one.
        self.epoch_began = -1
        self.set_limits(configuration.get('limits'))

    def find(self, factor, level):
        return next(each for each in self.levels[self.names.index(factor)] if each.name == level)

    def ever_called(self, factor, name):
        """The levels that had or have the name: there is one at most."""
        return [level for level in self.levels[self.names.index(factor)] if level.was_ever_called(name)]

    def set_limits(self, limits):
        """Each is kept with its level, not with the name."""
        self.has_limits = limits is not None
        self.total = (limits or {}).get('total')
        self.level_limits = [
            (limit['factor'], self.find(limit['factor'], limit['level']), limit['max'])
            for limit in (limits or {}).get('levels', [])]
        places = [(self.names.index(factor), self.levels[self.names.index(factor)].index(level))
                  for factor, level, _ in self.level_limits]
        assert limits != {} and places == sorted(set(places))

    @property
    def has_ratio(self):
        return len(self.slots) > len(self.treatments)

    @property
    def open_slots(self):
        return [slot for slot, arm in enumerate(self.slots) if self.treatments[arm] not in self.closed_arms]

    @property
    def open_arms(self):
        return {name for name in self.treatments if name not in self.closed_arms}

    def slots_of_arm(self, arm):
        return [slot for slot, each in enumerate(self.slots) if each == arm]

    def is_legal(self):
        return (len(self.open_arms) >= 2 and len(self.retired) < len(self.names) and len(self.slots) <= 40 and all(
            name in self.retired or not all(level.is_closed for level in levels)
            for name, levels in zip(self.names, self.levels)))

    def restart(self, revision):
        self.epoch += 1
        self.epoch_began = revision

    def limits(self):
        levels = [{'factor': factor, 'level': level.name, 'max': most} for factor, level, most in self.level_limits]
        return present(total=self.total, levels=levels or None) if self.has_limits else None

    def change(self, change, revision):
        kind, value = change['kind'], change.get('value')
        if kind.startswith('level-'):
            self.change_level(revision, **change)
        elif kind.startswith('arm-'):
            self.change_arm(**change)
        elif kind == 'urn':
            assert len(change) > 1 and all(self.urn[name] != change[name] for name in change if name != 'kind')
            self.urn = {name: change.get(name, old) for name, old in self.urn.items()}
        elif kind == 'ratio':
            assert len(value) == len(self.treatments) and math.gcd(*value) == 1
            assert slots_of(value) != self.slots
            self.slots = slots_of(value)
        elif kind == 'factor-retired':
            assert change['factor'] in self.names and change['factor'] not in self.retired
            self.retired.add(change['factor'])
        elif kind == 'policy':
            assert value != self.policies[change['name']]
            self.policies[change['name']] = value
        elif kind == 'limits':
            assert value != self.limits()
            self.set_limits(value)
        else:
            member = {'id-pattern': 'id_pattern', 'target': 'target', 'blinding': 'blinding'}[kind]
            assert value != getattr(self, member)
            setattr(self, member, value)

    def change_level(self, revision, kind, factor, level, to=None, alias=False):
        of_factor = self.levels[self.names.index(factor)]
        assert factor not in self.retired
        if kind == 'level-added':
            assert not self.ever_called(factor, level)
            of_factor.append(Level(level))
            return
        changed = self.find(factor, level)
        if kind == 'level-renamed':
            assert to != level and self.ever_called(factor, to) in ([], [changed])
            changed.rename(to, alias)
        else:
            assert changed.is_closed == (kind == 'level-reopened')
            changed.is_closed = not changed.is_closed
        if kind != 'level-closed':
            changed.since = revision

    def change_arm(self, kind, treatment, ratio=1):
        if kind == 'arm-added':
            assert treatment not in self.treatments
            self.slots = self.slots + [len(self.treatments)] * ratio
            self.treatments = [*self.treatments, treatment]
            return
        assert treatment in self.treatments and (treatment in self.closed_arms) == (kind == 'arm-reopened')
        self.closed_arms = self.closed_arms ^ {treatment}

    def said(self):
        return present(
            amendment=self.amendment,
            treatments=[{'name': name, 'closed': name in self.closed_arms} for name in self.treatments],
            slots=[self.treatments[arm] for arm in self.slots], epoch=self.epoch, urn=self.urn,
            factors=[{'name': name, 'levels': [
                {'name': level.name, 'earlierNames': level.earlier_names, 'aliases': level.aliases,
                 'closed': level.is_closed} for level in levels],
                **present(retired=True if name in self.retired else None)}
                for name, levels in zip(self.names, self.levels)],
            limits=self.limits(), policies=self.policies, idPattern=self.id_pattern, target=self.target,
            blinding=self.blinding, protocol=self.protocol)


# A log with one study

class History:
    """A log that holds one study, and what is true of the study after each of its records."""

    def __init__(self, about, configuration, began='2026-03-02T08:00:00.000Z', log_name='urn', seed=None):
        self.about = about
        self.configuration = {
            'mode': 'live', 'D': 'chisquare', 'urnSelection': 'method1', 'w': 1, 'alpha': 0, 'beta': 1,
            **configuration,
        }
        self.design = Design(self.configuration)
        # The design as it was said last.
        self.said_design = None
        # In a copy that is altered, what must not be is done all the same.
        self.is_altered = False
        self.altered = []
        self.name = configuration['name']
        self.clock = milliseconds(began)
        self.log_name = log_name
        self.log_id = str(self.uuid7('the log'))
        self.study_id = str(uuid.uuid5(uuid.UUID(self.log_id), self.name))
        self.stream = f'study-{self.study_id}'
        self.configured_seed = seed
        self.streams = {'log': [], 'access': [], self.stream: []}
        self.keys = {}
        # How many records of `access` the process that decides has not read yet.
        self.unheard = 0
        self.by_operator = {'cli': True, 'user': 'trial-ops'}
        self.status = None
        self.enrolled = {}
        self.touched = []
        self.unblinded = set()
        # By code, in the order of the lists.
        self.packs = {}
        # By code of each pack that was ever given out, who has or had it; nobody, if that was a wrong entry.
        self.given = {}
        self.withdrawn = []
        self.lists = 0
        # The packs as they were said last.
        self.said_packs = None
        # How many participants would have got another arm if corrections moved the counts where they must not, and
        # did not where they must.
        self.decided_by_counts = 0
        # The same if the urn of a level that was renamed or reopened began anew.
        self.decided_by_amendments = 0
        # The same if the urns did not count those from outside whom they count, and counted those whom they do not.
        self.decided_by_forced = 0
        # The same if the urns were read otherwise than the design says: see `misreadings`.
        self.decided_by_design = 0
        # Or how the urns are made up, or when they begin.
        self.changes_arms = self.design.has_ratio
        # After each record, its time and the arms that are open.
        self.open_arms = []
        self.registered_at = None
        # The last time.
        self.closed_at = None
        self.bg_state = None
        self.expected = []
        self.importing = None
        self.imported = []
        self.newest = None
        self.life = {'corrected': 0, 'idsCorrected': 0, 'changedAfterClosing': {}, 'revealed': {},
                     'unblindingReported': 0}
        self.warnings = {}
        self.made = 0
        self.append('log', 'LogCreated', {
            'format': 'urn-log@1', 'logId': self.log_id, 'logName': log_name, 'publicKey': verifier_key(log_name)})

    @property
    def factors(self):
        """With the names of the levels as they are now."""
        return [{'name': name, 'levels': [level.name for level in levels]}
                for name, levels in zip(self.design.names, self.design.levels)]

    @property
    def active_factors(self):
        return [f for f in self.factors if f['name'] not in self.design.retired]

    def in_force(self):
        """The configuration as another system has it that does the same now: each slot is an arm there."""
        return {**self.configuration, **self.design.urn, 'factors': self.active_factors,
                'treatments': [self.arms[arm] for arm in self.design.slots]}

    def places(self, levels):
        """Of the levels of all factors that are not retired, by their names of now. A participant has places, which no
        renaming touches, and none at a factor that was retired before."""
        names = iter(levels)
        return [None if f['name'] in self.design.retired else f['levels'].index(next(names)) for f in self.factors]

    def names(self, places):
        return [None if place is None else levels[place].name for levels, place in zip(self.design.levels, places)]

    def must(self, condition):
        assert condition or self.is_altered

    @property
    def arms(self):
        return self.design.treatments

    def digest(self, label):
        return sha256(f'life-histories\n{self.name}\n{label}'.encode())

    def number(self, label, below):
        return int.from_bytes(self.digest(label), 'big') % below

    def uuid7(self, label):
        random = int.from_bytes(self.digest(label)[:10], 'big')
        high, low = random >> 62 & 0xfff, random & (1 << 62) - 1
        return uuid.UUID(int=self.clock << 80 | 7 << 76 | high << 64 | 2 << 62 | low)

    def uuid4(self, label):
        return str(uuid.UUID(bytes=self.digest(label)[:16], version=4))

    def wait(self, **duration):
        units = {'ms': 1, 's': 1000, 'min': 60_000, 'h': 3_600_000, 'days': 86_400_000}
        self.clock += sum(units[unit] * n for unit, n in duration.items())

    def last_at(self):
        """Of the study's last record, in milliseconds."""
        return milliseconds(json.loads(self.streams[self.stream][-1][0])['at'])

    def next_at(self):
        """Of its next one, if no time passes until then."""
        return self.clock + self.delay(self.stream)

    def step_back(self, ms):
        """The next record is that much older than the study's last one."""
        self.clock = self.last_at() - ms

    def later(self, **duration):
        """The time of the next record, or so much later."""
        now = self.clock
        self.wait(**duration)
        then, self.clock = self.clock, now
        return instant(then)

    def revision(self, stream=None):
        """Of the next record."""
        return len(self.streams[stream or self.stream])

    def where(self, stream):
        return f'{stream}/{self.revision(stream)}/{self.made}'

    def delay(self, stream):
        return self.number(f'delay {self.where(stream)}', 3)

    def append(self, stream, kind, data, actor=None, sections=None):
        revision = self.revision(stream)
        where = self.where(stream)
        new_id = str(self.uuid7(f'id {where}'))
        # The clock is read after the id was made.
        self.clock += self.delay(stream)
        self.made += 1
        sealed = {
            name: {**section, 'salt': self.digest(f'salt {where} {name}')[:16].hex()}
            for name, section in (sections or {}).items()
        }
        record = canonical({
            'actor': actor or self.by_operator, 'at': instant(self.clock), 'data': data, 'id': new_id,
            'log': self.log_id, 'revision': revision, 'stream': stream, 'type': kind, 'version': 1,
            'seals': {name: sha256(canonical(section).encode()).hex() for name, section in sealed.items()},
        })
        self.streams[stream].append((record, canonical(sealed), leaf_hash(record)))
        if stream == self.stream:
            self.open_arms.append((self.clock, self.design.open_arms))
            self.expect()
        self.wait(s=1 + self.number(f'pause {where}', 7200))

    def table(self, place, slot=None):
        """How many participants there are by factor, level and slot, of those of this epoch.

        @param place the places of a participant, or nothing; none at a factor that does not count them
        @param slot that of a participant, or nothing, if it is not the one they have
        """
        slot = slot or (lambda person: person['slot'] if self.is_of_epoch(person) else None)
        numbers = [[[0 for _ in self.design.slots] for _ in levels] for levels in self.design.levels]
        for person in self.enrolled.values():
            taken = slot(person)
            for rows, at in zip(numbers, place(person) or []):
                if at is not None and taken is not None:
                    rows[at][taken] += 1
        return numbers

    def is_of_epoch(self, person):
        return person['revision'] > self.design.epoch_began

    def everybody(self):
        """By arm instead, at their present levels, whatever the urns hold."""
        numbers = [[[0 for _ in self.arms] for _ in levels] for levels in self.design.levels]
        for person in self.enrolled.values():
            for rows, at in zip(numbers, person['levels']):
                if at is not None:
                    rows[at][person['arm']] += 1
        return numbers

    def counts(self):
        """Those that the urns hold."""
        return self.counts_if(is_counted)

    def counts_if(self, is_held):
        """The same if the urns held those of whom this is true."""
        return self.table(lambda person: person['countedLevels'] if is_held(person) else None)

    def counts_otherwise(self):
        """The same if each correction did to the urns the opposite of what it does."""
        return self.table(lambda person: None if person['voided'] and not removed(person['voided'])
                          or is_left_out(person) else person['otherwise'])

    def counts_anew(self):
        """The same if the urn of a level began anew when it was renamed or reopened."""
        def since(person):
            return [place if place is not None and person['revision'] >= levels[place].since else None
                    for levels, place in zip(self.design.levels, person['countedLevels'])]
        return self.table(lambda person: since(person) if is_counted(person) else None)

    def counts_forced_otherwise(self):
        """The same if of those from outside the urns counted whom they do not, and did not count whom they do."""
        return self.counts_if(lambda person: not removed(person['voided'])
                              and (person['forced'] is None or is_left_out(person)))

    def expect(self):
        corrected = {}
        for participant in self.touched:
            person = self.enrolled[participant]
            corrected[participant] = {
                'id': person['id'], 'formerIds': person['formerIds'], 'levels': self.names(person['levels']),
                'countedLevels': self.names(person['countedLevels']), 'voided': person['voided']}
        state = {
            'status': self.status, 'enrolled': len(self.enrolled), 'counts': self.counts(), 'bgState': self.bg_state,
            'root': in_base64(self.root(self.stream)),
        }
        forced = {participant: {'revision': person['revision'], **person['forced'],
                                'ids': [person['id'], *person['formerIds']]}
                  for participant, person in self.enrolled.items() if person['forced']}
        if corrected or self.design.amendment or forced:
            voided = [person['arm'] for person in self.enrolled.values() if person['voided']]
            state |= {'corrected': corrected, 'randomized': self.everybody(),
                      'voidedByArm': [voided.count(arm) for arm in range(len(self.arms))], 'filled': self.filled()}
        if self.life.get('forced'):
            state |= {'forced': forced}
        if self.importing or self.imported:
            newest = self.newest and {**self.newest, 'levels': self.names(self.newest['levels'])}
            state |= {'newest': newest}
        packs = self.packs_now()
        if packs != self.said_packs:
            state |= {'packs': packs}
        said = self.design.said()
        if said != self.said_design:
            state |= {'design': said}
        self.expected.append(json.loads(json.dumps(state)))
        self.said_design = copy.deepcopy(said)
        self.said_packs = copy.deepcopy(packs)

    def root(self, stream, size=None):
        return root_hash([leaf for _, _, leaf in self.streams[stream][:size]])

    def warn(self, code):
        """To be called before the record is appended."""
        warning = self.warnings.setdefault(code, {'count': 0, 'revision': self.revision()})
        warning['count'] += 1

    # Keys

    def key(self, user, *scopes, studies=None, where=None, expires_at=None):
        may_predict = ('audit' in scopes and {'randomize', 'manage', 'correct', 'force'} & set(scopes)
                       or 'randomize' in scopes and {'manage', 'force'} & set(scopes))
        data = present(
            keyId='k' + self.digest(f'key {user}').hex()[:12], user=user, scopes=list(scopes), studies=studies,
            where=where, expiresAt=expires_at, allowPrediction=True if may_predict else None)
        text = self.digest(f'text of the key of {user}')
        self.append('access', 'ApiKeyIssued', data, sections={'credential': {'sha256': sha256(text).hex()}})
        self.keys[user] = data

    def revoke(self, user, reason=None):
        self.append('access', 'ApiKeyRevoked', present(keyId=self.keys[user]['keyId'], reason=reason))

    def actor(self, user, behalf=None):
        """Without a user: somebody at the command line."""
        if user is None:
            return self.by_operator
        last = self.revision('access') - 1 - self.unheard
        return present(keyId=self.keys[user]['keyId'], user=user, accessRevision=last, onBehalfOf=behalf)

    # The study

    def register(self):
        seed = self.configured_seed
        source = 'drawn' if seed is None else 'configured'
        if seed is None:
            seed = int.from_bytes(self.digest('seed')[:16], 'big')
        self.seed = seed
        self.bg_state = saved(numpy.random.PCG64(seed))
        self.status = self.configuration.get('start', 'open')
        self.append(
            self.stream, 'StudyRegistered',
            {'studyId': self.study_id, 'configuration': self.configuration, 'seedSource': source,
             'seedWeak': seed < 2**96,
             'algorithm': {'name': 'wei-urn-method1-pcg64', 'version': 2 if self.design.has_ratio else 1}},
            sections={'generator': {'seed': str(seed), 'bgState': self.bg_state}})
        self.registered_at = self.last_at()

    def said(self, kind, data, by, behalf=None, request=None, sections=None):
        sealed = present(**(sections or {}), request={'idempotencyKey': request} if request else None)
        self.append(self.stream, kind, data, self.actor(by, behalf), sealed)

    def by_factor(self, places):
        return dict(zip(self.design.names, self.names(places)))

    def within(self, key, places):
        """Whatever the levels were called when the key was issued."""
        levels = {name: levels[place] for name, levels, place in zip(self.design.names, self.design.levels, places)
                  if place is not None}
        # Who has no level of the factor is nobody's.
        return all(places[self.design.names.index(limit['factor'])] is not None
                   and any(levels[limit['factor']].was_ever_called(name) for name in limit['levels'])
                   for limit in key.get('where', []))

    def ids_in_use(self):
        """An id that somebody has or had is nobody else's, ever."""
        return {i for person in self.enrolled.values() for i in [person['id'], *person['formerIds']]}

    def limits(self):
        """Of each limit that stops participants, the largest number and whom it concerns: that of the study first."""
        design = self.design
        if not design.policies['stopAtLimit']:
            return []
        total = [] if design.total is None else [(design.total, lambda places: True)]
        return total + [
            (most, lambda places, factor=design.names.index(name), level=level:
                places[factor] is not None and design.levels[factor][places[factor]] is level)
            for name, level, most in design.level_limits]

    def filled(self):
        """How many participants each of these limits counts: whoever was there, once, at their present levels."""
        there = [person['levels'] for person in self.enrolled.values()
                 if not person['voided'] or person['voided']['cause'] not in ('duplicate', 'never-enrolled')]
        return [sum(map(concerns, there)) for _, concerns in self.limits()]

    def may_have(self, places, key):
        """Whether the key is for participants of these levels, they are open, and the limits let one more in."""
        is_stocked = self.lists == 0 or self.are_stocked(self.design.open_arms, places)
        return self.is_open_at(places) and self.within(key, places) and is_stocked and all(
            filled < most or not concerns(places)
            for (most, concerns), filled in zip(self.limits(), self.filled()))

    def is_open_at(self, places):
        return not any(place is not None and levels[place].is_closed
                       for levels, place in zip(self.design.levels, places))

    def levels_for(self, participant, key):
        for attempt in range(1000):
            places = [None if f['name'] in self.design.retired else
                      self.number(f'level {participant} {attempt} {f["name"]}', len(f['levels']))
                      for f in self.factors]
            if self.may_have(places, key):
                return places
        raise ValueError(f'{participant} has no level that is left')

    def telling_levels(self, key):
        """Levels at which a participant gets another arm if a correction or an allocation from outside was not counted
        as it is, or if an urn began anew, if there are any."""
        for places in self.all_places():
            if self.may_have(places, key) and (
                    self.decides(places) or self.decides_anew(places) or self.decides_by_forced(places)
                    or self.decides_by_design(places)):
                return places
        return None

    def all_places(self):
        """Every combination of levels that a participant can have now."""
        return [list(places) for places in itertools.product(*(
            [None] if name in self.design.retired else range(len(levels))
            for name, levels in zip(self.design.names, self.design.levels)))]

    def drawn(self, places, counts, numbers=None, is_sorted=None, has_closed=False):
        """@param numbers of the urns, in place of those in force
        @param is_sorted whether the imbalance is that of sorted balls, if it is not as the design says
        @param has_closed whether `N` has those of closed arms, too
        @returns the slot and the draw
        """
        design = self.design
        slots = design.open_slots
        whole = {name: table[place] for name, table, place in zip(design.names, counts, places) if place is not None}
        rows = {name: [row[slot] for slot in slots] for name, row in whole.items()}
        beside = {name: sum(whole[name]) - sum(row) for name, row in rows.items()} if has_closed else {}
        chosen, draw = allocate(numbers or design.urn, rows, self.bg_state,
                                design.has_ratio if is_sorted is None else is_sorted, beside)
        return slots[chosen], {**draw, 'slot': slots[chosen]} if design.has_ratio else draw

    def arm_drawn(self, places, counts, **how):
        return self.design.slots[self.drawn(places, counts, **how)[0]]

    def misreadings(self):
        """By name, what somebody would draw with who reads the urns otherwise than the design says."""
        design, counts = self.design, self.counts()

        def first_of(person):
            return design.slots_of_arm(person['arm'])[0]
        if design.has_ratio:
            yield 'unsorted', counts, {'is_sorted': False}
            yield 'first slot', self.counts_by(lambda person: None if not self.is_of_epoch(person) else
                                               first_of(person) if person['forced'] else person['slot']), {}
        if design.closed_arms:
            yield 'closed arms', counts, {'has_closed': True}
        if design.epoch:
            yield 'earlier epochs', self.counts_by(
                lambda person: person['slot'] if self.is_of_epoch(person) else first_of(person)), {}
        registered = {name: self.configuration[name] for name in design.urn}
        if design.urn != registered:
            yield 'numbers', counts, {'numbers': registered}

    def counts_by(self, slot):
        """The same if those whom the urns hold had these slots."""
        return self.table(lambda person: person['countedLevels'] if is_counted(person) else None, slot)

    def decides_by_design(self, places):
        """Whether the arm depends on one of these misreadings."""
        mistaken = list(self.misreadings())
        arm = self.arm_drawn(places, self.counts()) if mistaken else None
        return any(self.arm_drawn(places, counts, **how) != arm for _, counts, how in mistaken)

    def decides(self, places):
        """Whether the arm depends on what the corrections did to the counts."""
        if not self.touched:
            return False
        return self.arm_drawn(places, self.counts()) != self.arm_drawn(places, self.counts_otherwise())

    def decides_anew(self, places):
        """Whether the arm depends on what a level had before it was renamed or reopened."""
        counts, anew = self.counts(), self.counts_anew()
        return counts != anew and self.arm_drawn(places, counts) != self.arm_drawn(places, anew)

    def decides_by_forced(self, places):
        """Whether the arm depends on which of those from outside the urns count."""
        counts, otherwise = self.counts(), self.counts_forced_otherwise()
        return counts != otherwise and self.arm_drawn(places, counts) != self.arm_drawn(places, otherwise)

    def enrol(self, by, *participants, levels=None, behalf=None, request=None, counts=None, how=None, code=None):
        """@param counts what must not be drawn from, in an altered copy; `how` likewise
        @param code of the pack, in an altered copy: by the participant's arm
        """
        for participant in participants:
            key = self.keys[by]
            places = (self.places(levels) if levels else
                      self.telling_levels(key) or self.levels_for(participant, key))
            self.must(self.status == 'open' and self.may_have(places, key) and self.may_be_called(participant))
            assert participant not in self.ids_in_use()
            slot, draw = self.drawn(places, counts or self.counts(), **(how or {}))
            self.decided_by_counts += self.decides(places)
            self.decided_by_amendments += self.decides_anew(places)
            self.decided_by_forced += self.decides_by_forced(places)
            self.decided_by_design += self.decides_by_design(places)
            self.bg_state = draw['bgStateAfter']
            self.enrolled[participant] = self.person(participant, places, slot)
            treatment = self.arms[self.design.slots[slot]]
            pack = None
            if self.lists:
                pack = code(treatment) if code else self.next_pack(participant, treatment, places)
                self.give(pack, participant)
            self.said('ParticipantRandomized',
                      present(participantId=participant, levels=self.named(places), code=pack), by, behalf,
                      request, {'allocation': {'treatment': treatment}, 'draw': draw})

    def least_taken(self, arm):
        """Of the slots of an arm, the first of those with the fewest participants whom the urns hold."""
        held = [person['slot'] for person in self.enrolled.values() if is_counted(person) and self.is_of_epoch(person)]
        return min(self.design.slots_of_arm(arm), key=held.count)

    def open_at(self, ms):
        """The arms that were open then: behind the last record before the first that is younger."""
        index = next((i for i, (at, _) in enumerate(self.open_arms) if at > ms), len(self.open_arms))
        return self.open_arms[max(index, 1) - 1][1]

    def person(self, participant, places, slot, forced=None):
        """Enrolled by the next record."""
        return {'revision': self.revision(), 'arm': self.design.slots[slot], 'slot': slot, 'asRandomized': places,
                'levels': places, 'countedLevels': places, 'otherwise': places, 'id': participant, 'formerIds': [],
                'voided': None, 'forced': forced, 'code': None, 'replacements': 0}

    def force(self, participant, treatment, levels, cause='outage', ago=3_600_000, occurred_at=None, replaces=None,
              note='the envelope was opened', by=None, behalf=None, request=None, code=None):
        """Enters an allocation that was made outside. Nothing is drawn, and nobody is refused as full.

        @param ago how many milliseconds before the record it was made
        @param occurred_at when it was made, if that is not said by `ago`
        @param replaces the revision of a wrong entry of this id, which is void
        @param code of the pack that was handed out
        """
        places = self.places(levels)
        occurred = self.next_at() - ago if occurred_at is None else occurred_at
        self.must(self.status in ('open', 'paused') or self.status == 'closed' and occurred < self.closed_at)
        self.must(self.registered_at <= occurred <= self.next_at() + 1000)
        self.must(self.is_open_at(places) and self.may_be_called(participant))
        if by:
            self.must('force' in self.keys[by]['scopes'] and self.within(self.keys[by], places))
        self.must(treatment in self.open_at(occurred))
        counted = self.design.policies['forcedCounts'] == 'counted'
        slot = self.least_taken(self.arms.index(treatment))
        person = self.person(participant, places, slot, {'counted': counted, 'occurredAt': instant(occurred)})
        if replaces is None:
            self.must(participant not in self.ids_in_use())
        else:
            wrong = self.enrolled.get(participant, {}).get('code')
            person['formerIds'] = self.give_way(participant, replaces)
            if code == wrong:
                # It may be named again.
                self.given.pop(code, None)
        self.enrolled[participant] = person
        if code:
            self.must(code in [pack['code'] for pack in self.free_packs(treatment, places)])
            self.give(code, participant)
        forced = self.life.setdefault('forced', {})
        forced[cause] = forced.get(cause, 0) + 1
        self.warn('forced')
        if self.next_at() - occurred > LATE:
            self.warn('entered-late')
        data = present(cause=cause, code=code, counted=counted, levels=self.named(places), occurredAt=instant(occurred),
                       participantId=participant, replaces=replaces)
        self.said('AllocationForced', data, by, behalf, request,
                  {'allocation': present(treatment=treatment, slot=slot if self.design.has_ratio else None),
                   'note': {'text': note}})

    def give_way(self, participant, revision):
        """A wrong entry leaves the study with all its corrections. @returns the other ids that it has and had"""
        wrong = self.enrolled.pop(participant, None)
        self.must(wrong and wrong['revision'] == revision and wrong['voided']
                  and wrong['voided']['cause'] == 'entry')
        if wrong is None:
            return []
        if participant in self.touched:
            self.touched.remove(participant)
        # Nobody knows who has its packs.
        self.given = {code: None if holder == participant else holder for code, holder in self.given.items()}
        return [i for i in [*wrong['formerIds'], wrong['id']] if i != participant]

    def named(self, places):
        return [{'factor': factor, 'level': level} for factor, level in self.by_factor(places).items()
                if level is not None]

    def may_be_called(self, participant):
        pattern = self.design.id_pattern
        return pattern is None or re.fullmatch(pattern, participant) is not None

    def pause(self, reason, by=None, behalf=None, request=None):
        assert self.status == 'open'
        self.status = 'paused'
        self.said('StudyPaused', {'reason': reason}, by, behalf, request)

    def resume(self, reason, by=None, behalf=None, request=None):
        assert self.status == 'paused'
        self.status = 'open'
        self.said('StudyResumed', {'reason': reason}, by, behalf, request)

    def latest_day(self, more=0):
        """That has begun anywhere on earth at the time of the study's next record, or so many days later."""
        return instant(self.next_at() + (14 + 24 * more) * 3_600_000)[:10]

    def approve(self, approvals):
        self.must(all(each['on'] <= self.latest_day() for each in approvals or []))
        if approvals:
            self.warn('approval-asserted')

    def close(self, cause, reason, by=None, approvals=None, request=None):
        assert self.status in ('open', 'paused')
        self.status = 'closed'
        self.approve(approvals)
        self.said('StudyClosed', present(cause=cause, reason=reason, approvals=approvals), by, request=request)
        self.closed_at = self.last_at()

    def reopen(self, reason, approvals, by=None, protocol=None, request=None):
        assert self.status == 'closed' and (approvals or self.configuration['mode'] == 'test')
        self.status = 'open'
        self.approve(approvals)
        self.design.protocol = protocol or self.design.protocol
        data = present(reason=reason, approvals=approvals, protocol=protocol)
        self.said('StudyReopened', data, by, request=request)

    def amend(self, *changes, reason='as the protocol says', by=None, approvals=None, protocol=None, behalf=None,
              request=None, history=None):
        """@param approvals one, unless others are given
        @param history what the urns count from here on, if it is not the default
        """
        approvals = [RUIZ] if approvals is None else approvals
        self.must(self.status in ('open', 'paused', 'closed') and (approvals or self.configuration['mode'] == 'test'))
        self.must(changes or protocol)
        for change in changes:
            self.design.change(change, self.revision())
        self.must(self.design.is_legal())
        kinds = {change['kind'] for change in changes}
        if any(map(touches_urns, changes)):
            history = history or ('restart' if {'arm-added', 'ratio'} & kinds else 'keep')
        self.must(history != 'keep' or 'ratio' not in kinds)
        self.changes_arms |= history == 'restart' or any(
            touches_urns(change) and not change['kind'].startswith('level-') for change in changes)
        if history == 'restart':
            self.design.restart(self.revision())
        self.design.amendment += 1
        self.design.protocol = protocol or self.design.protocol
        self.life['amendments'] = self.design.amendment
        self.approve(approvals)
        data = present(amendment=self.design.amendment, approvals=approvals, changes=list(changes),
                       history=history, protocol=protocol, reason=reason)
        self.said('StudyAmended', data, by, behalf, request)

    def instead(self, about, act, change=None, found=None, pattern=None, arm=None, sections=None, field=None):
        """Keeps a copy that is altered: the study as it is now, with one more record that must not be there.

        @param act what is done in the copy
        @param change alters the record's data
        @param found in which contents it can be found: in all of them, unless it is said
        @param pattern whether only the pattern of ids tells
        @param arm another treatment in the sealed allocation
        @param sections alters what is sealed
        @param field which member is wrong: one for all contents in which it is found, or a list with one for each
        """
        altered = copy.deepcopy(self)
        altered.is_altered = True
        act(altered)
        [(text, sealed, _)] = altered.streams[self.stream][self.revision():]
        record = json.loads(text)
        if change:
            change(record['data'])
        if arm or sections:
            content = json.loads(sealed)
            if arm:
                content['allocation']['treatment'] = arm
            if sections:
                sections(content)
            sealed = canonical(content)
            record['seals'] = {name: sha256(canonical(section).encode()).hex() for name, section in content.items()}
        text = canonical(record)
        found = found or CONTENTS
        fields = [field for _ in found] if isinstance(field, str) else field
        self.altered.append({
            'about': about, 'found': found, **present(fields=fields, pattern=pattern), 'record': text,
            'sealed': sealed, 'leaf': leaf_hash(text).hex()})

    def instead_drawn(self, about, by, participant, misreading):
        """Keeps a copy in which somebody is drawn who gets another arm by a misreading, or at least has another draw.

        @returns whether there is such a copy: often a misreading makes no difference
        """
        _, counts, how = next(each for each in self.misreadings() if each[0] == misreading)
        possible = [places for places in self.all_places() if self.may_have(places, self.keys[by])]
        pairs = [(places, self.drawn(places, self.counts()), self.drawn(places, counts, **how)) for places in possible]
        other = [pair for pair in pairs if pair[1][0] != pair[2][0]] + [pair for pair in pairs if pair[1] != pair[2]]
        if other:
            places, (_, right), (_, wrong) = other[0]
            levels = [level for level in self.names(places) if level is not None]
            self.instead(about, lambda it: it.enrol(by, participant, levels=levels, counts=counts, how=how),
                         found=['full'], field='draw.' + first_difference(right, wrong))
        return bool(other)

    def enrol_until_told(self, by, participants, misreading, about):
        """Enrols them all. Of the first at whom a misreading can tell, if there is one, a copy is kept."""
        is_told = False
        for participant in participants:
            is_told = is_told or self.instead_drawn(about, by, participant, misreading)
            self.enrol(by, participant)

    def about_one(self, participant):
        return {'participantId': participant, 'randomizedAt': self.enrolled[participant]['revision']}

    def reveal(self, category, participant, reason, by=None, requested_by=None, shown_ago=None, behalf=None,
               request=None, code=None):
        """@param participant nobody, if it is about a pack that nobody has or had
        @returns the revision
        """
        revision = self.revision()
        shown_at = None
        self.warn('revealed-in-emergency' if category == 'emergency' else 'revealed')
        if shown_ago is not None:
            shown_at = instant(self.clock - shown_ago)
            self.warn('recorded-late')
        if by and participant:
            levels = (self.enrolled[participant][name] for name in ('asRandomized', 'levels'))
            assert any(self.within(self.keys[by], each) for each in levels)
        elif by:
            self.must(self.is_for(self.keys[by], code))
        if participant:
            self.unblinded.add(participant)
        about = self.about_one(participant) if participant else {}
        data = present(category=category, code=code, **about, reveal=self.uuid4(f'reveal {revision}'),
                       shownAt=shown_at)
        self.life['revealed'][category] = self.life['revealed'].get(category, 0) + 1
        grounds = present(reason=reason, requestedBy=requested_by)
        self.said('AllocationRevealed', data, by, behalf, request, {'grounds': grounds})
        return revision

    def report(self, how, participant, reason, by=None, ago=60_000, inadvertent=False, revealed_at=None,
               requested_by=None, request=None):
        data = present(how=how, **self.about_one(participant), occurredAt=instant(self.clock - ago),
                       inadvertent=True if inadvertent else None, revealedAt=revealed_at)
        self.warn('unblinding-reported')
        self.unblinded.add(participant)
        self.life['unblindingReported'] += 1
        grounds = present(reason=reason, requestedBy=requested_by)
        self.said('UnblindingReported', data, by, None, request, {'grounds': grounds})

    # Packs

    def packs_now(self):
        """Nothing, until there is a list."""
        if not self.lists:
            return None
        return {
            'lists': self.lists, 'free': [code for code in self.packs if self.is_free(code)], 'given': self.given,
            'current': {participant: {'code': person['code'], 'replacements': person['replacements']}
                        for participant, person in self.enrolled.items() if person['code']},
            'withdrawn': [code for code in self.packs if code in self.withdrawn]}

    def is_free(self, code):
        return code in self.packs and code not in self.given and code not in self.withdrawn

    def free_packs(self, treatment, places):
        """Those of the treatment that are for everybody, or for a level that the participant has."""
        levels = [levels[place] for levels, place in zip(self.design.levels, places) if place is not None]
        return [pack for code, pack in self.packs.items() if self.is_free(code) and pack['treatment'] == treatment
                and (pack['level'] is None or any(level is pack['level'] for level in levels))]

    def are_stocked(self, treatments, places, margin=1):
        return all(len(self.free_packs(treatment, places)) >= margin for treatment in treatments)

    def next_pack(self, participant, treatment, places):
        """@param participant the id as randomized"""
        def place_of(pack):
            return sha256(pack['key'] + b'\x00' + participant.encode() + b'\x00' + pack['code'].encode())
        return min(self.free_packs(treatment, places), key=place_of)['code']

    def other_pack(self, participant, treatment, places):
        """One that is free, too, and is not the next one."""
        first = self.next_pack(participant, treatment, places)
        return next(pack['code'] for pack in self.free_packs(treatment, places) if pack['code'] != first)

    def give(self, code, participant):
        self.given[code] = participant
        self.enrolled[participant]['code'] = code

    def register_codes(self, entries, where=None, by=None):
        """@param entries the packs: by treatment, their codes
        @param where factor and level of those whom the packs are for
        """
        self.must(self.status in ('open', 'paused', 'closed') and by is None)
        pairs = [(code, treatment) for treatment, codes in entries.items() for code in codes]
        # As they come from the factory: in no order of arms.
        pairs.sort(key=lambda pair: self.digest(f'pack {pair[0]}'))
        self.lists += 1
        key = self.digest(f'key of list {self.lists}')[:16]
        for code, treatment in pairs:
            self.must(code not in self.packs and treatment in self.design.open_arms)
            self.must(not any(tells(code.casefold(), arm.casefold()) for arm in self.arms))
            self.packs.setdefault(code, {
                'code': code, 'treatment': treatment, 'key': key, 'factor': where and where[0],
                'level': where and self.design.find(*where)})
        self.must(where is None or where[0] not in self.design.retired)
        self.life.setdefault('packs', {'registered': 0, 'replaced': 0, 'withdrawn': 0})['registered'] += len(pairs)
        self.said('CodesRegistered',
                  present(count=len(pairs), list=self.lists, where=where and {'factor': where[0], 'level': where[1]}),
                  by, sections={'codes': {'key': key.hex(), 'entries': [
                      {'code': code, 'treatment': treatment} for code, treatment in pairs]}})

    def replace_pack(self, participant, cause='damaged', by=None, pack=None, request=None, behalf=None):
        """@param by somebody of the pharmacy, if not a site
        @param pack the new one, in an altered copy
        @returns the new one
        """
        person = self.enrolled[participant]
        is_supply = by is None or 'supply' in self.keys[by]['scopes']
        treatment = self.arms[person['arm']]
        self.must(self.status in ('open', 'paused', 'closed') and person['code'])
        self.must((person['voided'] or {}).get('cause') not in ('duplicate', 'never-enrolled', 'entry'))
        self.must(self.are_stocked([treatment], person['levels']) if is_supply
                  else self.are_stocked(self.arms, person['levels'], MARGIN))
        self.must(is_supply or person['replacements'] < REPLACEMENTS)
        if by:
            self.must({'supply', 'randomize'} & set(self.keys[by]['scopes']))
            self.must(self.within(self.keys[by], person['levels']))
        pack = pack or self.next_pack(participant, treatment, person['levels'])
        data = {'by': pack, 'cause': cause, 'code': person['code'] or 'none', **self.about_one(participant)}
        person['replacements'] += 1
        self.give(pack, participant)
        self.life['packs']['replaced'] += 1
        self.said('CodeReplaced', data, by, behalf, request)
        return pack

    def is_for(self, key, code):
        """Whether the limits of the key let it act on the pack. One for everybody is within all limits."""
        factor, level = self.packs[code]['factor'], self.packs[code]['level']
        return all(limit['factor'] != factor or any(map(level.was_ever_called, limit['levels']))
                   for limit in key.get('where', []))

    def withdraw(self, *codes, reason='recalled', by=None, request=None):
        self.must(self.status in ('open', 'paused', 'closed') and len(set(codes)) == len(codes))
        self.must(all(self.is_free(code) for code in codes))
        if by:
            self.must('supply' in self.keys[by]['scopes'] and all(self.is_for(self.keys[by], code) for code in codes))
        self.withdrawn = [*self.withdrawn, *codes]
        self.life['packs']['withdrawn'] += len(codes)
        self.said('CodesWithdrawn', {'count': len(codes)}, by, None, request,
                  {'withdrawn': {'codes': list(codes), 'reason': reason}})

    def reveal_pack(self, category, code, reason, **how):
        """@returns the revision"""
        return self.reveal(category, self.given.get(code), reason, code=code, **how)

    # Corrections. A participant is named as they were randomized, whatever their id is now.

    def said_of(self, kind, participant, data, note, by, behalf, request):
        assert self.status in ('open', 'paused', 'closed') and (by is None or 'correct' in self.keys[by]['scopes'])
        if participant not in self.touched:
            self.touched.append(participant)
        if participant in self.unblinded:
            self.warn('corrected-after-reveal')
        if self.status == 'closed':
            self.warn('changed-after-closing')
            changed = self.life['changedAfterClosing']
            changed[kind] = changed.get(kind, 0) + 1
        sections = {'note': {'text': note}} if note else None
        self.said(kind, present(**self.about_one(participant), **data), by, behalf, request, sections)

    def correct(self, participant, to, cause='entry', note='as in the source', by=None, behalf=None, request=None):
        """@param to the new levels, by factor"""
        person = self.enrolled[participant]
        before = person['levels']

        def moved(places):
            return [f['levels'].index(to[f['name']]) if f['name'] in to else place
                    for f, place in zip(self.factors, places)]
        after = moved(before)
        changes = [{'factor': name, 'from': old, 'to': new}
                   for name, old, new in zip(self.design.names, self.names(before), self.names(after)) if name in to]
        assert len(changes) == len(to) and all(change['from'] != change['to'] for change in changes)
        if by:
            enough = any if cause == 'transfer' else all
            assert enough(self.within(self.keys[by], levels) for levels in (before, after))
        counts = 'as-randomized' if cause == 'transfer' else self.design.policies['levelCounts']
        person['levels'] = after
        person.update({'countedLevels': moved(person['countedLevels'])} if counts == 'as-corrected'
                      else {'otherwise': moved(person['otherwise'])})
        self.life['corrected'] += 1
        self.said_of('LevelsCorrected', participant, {'cause': cause, 'changes': changes, 'counts': counts}, note,
                     by, behalf, request)

    def levels_of(self, participant):
        return self.by_factor(self.enrolled[participant]['levels'])

    def next_levels(self, participant, *names):
        """Of each of these factors the level behind that of the participant."""
        now = self.levels_of(participant)
        levels = {f['name']: f['levels'] for f in self.factors}
        return {name: levels[name][(levels[name].index(now[name]) + 1) % len(levels[name])] for name in names}

    def void(self, participant, cause, analysis='exclude', duplicate_of=None, note='randomized in error', by=None,
             behalf=None, request=None):
        person = self.enrolled[participant]
        assert not person['voided'] and (by is None or self.within(self.keys[by], person['levels']))
        self.must(cause in ('ineligible', 'duplicate', 'never-enrolled', 'other')
                  or cause == 'entry' and person['forced'])
        other = duplicate_of
        while other:
            self.must(other != participant and cause == 'duplicate')
            if other == participant:
                break
            other = (self.enrolled[other]['voided'] or {}).get('duplicateOf')
        counts = ('removed' if cause == 'entry' else
                  self.design.policies['voidCounts'] if cause in ('duplicate', 'never-enrolled') else 'kept')
        person['voided'] = present(cause=cause, counts=counts, voidedAt=self.revision(), duplicateOf=duplicate_of)
        self.warn('voided')
        if counts == 'removed':
            self.warn('counts-removed')
        data = {'analysis': analysis, 'cause': cause, 'counts': counts, 'duplicateOf': duplicate_of}
        self.said_of('AllocationVoided', participant, data, note, by, behalf, request)

    def reinstate(self, participant, note='voided in error', by=None, behalf=None, request=None):
        person = self.enrolled[participant]
        assert person['voided'] and (by is None or self.within(self.keys[by], person['levels']))
        data = {'voidedAt': person['voided']['voidedAt']}
        person['voided'] = None
        self.said_of('AllocationReinstated', participant, data, note, by, behalf, request)

    def rename(self, participant, to, cause='entry', by=None, behalf=None, request=None):
        person = self.enrolled[participant]
        assert by is None or self.within(self.keys[by], person['levels'])
        assert to != person['id'] and (to in person['formerIds'] or to not in self.ids_in_use())
        self.must(self.may_be_called(to))
        data = {'cause': cause, 'from': person['id'], 'to': to}
        former = [i for i in [*person['formerIds'], person['id']] if i != to]
        person.update({'id': to, 'formerIds': former})
        self.life['idsCorrected'] += 1
        self.said_of('ParticipantIdCorrected', participant, data, None, by, behalf, request)

    # Imports

    def begin_import(self, rows, generator='fresh', seed_known=False, source_format='reference', names=None,
                     approvals=None, slots=()):
        """@param names of the arms in the file, if they are others there
        @param slots by the name in the file, of those arms that have several names there
        """
        assert self.status in ('open', 'paused') and not self.enrolled
        assert approvals or self.configuration['mode'] == 'test'
        revision = self.revision()
        seed = None
        if generator == 'continued':
            last = max(row['instant'] for row in rows)
            state = next(row['state'] for row in sorted(rows, key=lambda row: row['row']) if row['instant'] == last)
            assert state
        else:
            seed = int.from_bytes(self.digest(f'seed of the import at {revision}')[:16], 'big')
            state = saved(numpy.random.PCG64(seed))
        seed_state = saved(numpy.random.PCG64(self.seed)) if seed_known else None
        proofs = self.proofs_of(rows, seed_state, source_format, set(dict(slots).values()))
        redrawn = sum(draw is not None for draw, _, _ in proofs)
        self.must(generator == 'fresh' or not self.design.has_ratio)
        self.importing = {
            'import': self.uuid4(f'import {revision}'), 'rows': list(zip(rows, proofs)), 'taken': 0,
            'before': self.status, 'generator': state}
        self.status = 'importing'
        self.approve(approvals)
        if generator == 'continued':
            self.warn('generator-known-elsewhere')
        names_map = [present(**{'from': there}, to=here, slot=dict(slots).get(there))
                     for there, here in names.items()] if names else None
        self.append(
            self.stream, 'HistoryImported',
            present(**{'import': self.importing['import']}, generator=generator, approvals=approvals or [],
                    source={'format': source_format, 'rows': len(rows)},
                    proof={'redrawn': redrawn, 'unproven': len(rows) - redrawn},
                    seedKnown=True if seed_known else None),
            sections={
                'source': present(sha256=self.digest(f'file {revision}').hex(), treatmentMap=names_map),
                'generator': present(bgState=state, seed=None if seed is None else str(seed))})

    def proofs_of(self, rows, seed_state, source_format, named):
        """@param named the slots that the file tells
        @returns of each row the draw that gives it, why there is none, and its slot
        """
        design = self.design
        proofs, slots = [], []
        for place, row in enumerate(rows):
            arm = design.slots[row['arm']]
            right = [row['arm']] if row['arm'] in named else design.slots_of_arm(arm)
            draw, cause = (None, 'other-system') if source_format == 'csv' else proof_of(
                self.in_force(), rows, slots, place, seed_state, right.__contains__)
            slots.append(draw['slot'] if draw else min(right, key=slots.count))
            proofs.append((draw, cause, slots[-1]))
        return proofs

    def import_rows(self, many=None):
        """That many more, or all that are missing."""
        first = self.importing['taken']
        rows = self.importing['rows'][first:None if many is None else first + many]
        for row, (draw, cause, slot) in rows:
            self.importing['taken'] += 1
            self.import_row(row, draw, cause, slot)

    def import_row(self, row, draw, cause, slot):
        participant = row['id']
        assert self.status == 'importing' and participant not in self.ids_in_use()
        self.must(self.may_be_called(participant))
        # A closed level does not matter: it took participants once.
        places = self.places(row['levels'])
        self.enrolled[participant] = self.person(participant, places, slot)
        self.imported.append('redrawn' if draw else 'unproven')
        original = {'user': row['user'], 'datetime': row['datetime']}
        treatment = self.arms[self.design.slots[slot]]
        has_ratio = self.design.has_ratio
        if draw and not has_ratio:
            draw = {name: value for name, value in draw.items() if name != 'slot'}
        self.newest = {'id': participant, 'levels': places, 'treatment': treatment, 'row': row['row'],
                       **original, 'at': instant(row['instant'] // 1000)}
        if not draw:
            self.warn('imported-unproven')
        how = {'draw': draw} if draw else {'state': {'bgState': row['state']}} if row['state'] else {}
        self.append(
            self.stream, 'ParticipantImported',
            present(**{'import': self.importing['import']}, row=row['row'], participantId=participant,
                    levels=self.named(places), redrawn=draw is not None, cause=cause, original=original),
            sections={'allocation': present(treatment=treatment, slot=slot if has_ratio and not draw else None), **how})

    def end_import(self):
        assert self.importing['taken'] == len(self.importing['rows'])
        if 'recovered' not in self.importing:
            self.bg_state = self.importing['generator']
        self.leave_import({'rows': len(self.importing['rows'])})

    def abort_import(self, reason):
        """Its participants are gone; the generator is that before it, or of a recovery since."""
        self.enrolled = {}
        self.imported = []
        self.newest = None
        self.unblinded = set()
        self.leave_import({'aborted': True, 'reason': reason})

    def leave_import(self, said):
        which, self.status = self.importing['import'], self.importing['before']
        self.importing = None
        self.append(self.stream, 'HistoryImportEnded', {'import': which, **said})

    def import_history(self, rows, **how):
        self.begin_import(rows, **how)
        self.import_rows()
        self.end_import()

    # Recoveries and moves of the log

    def declare_loss(self, recovery, reason, signed=None):
        """The study has kept what it has now.

        @param signed the largest size of it that is known to have been signed, and after which recovery
        """
        def state(stream):
            return {'stream': stream, 'kept': self.revision(stream)}
        study = {'kept': self.revision()}
        if signed:
            size, after = signed
            known = size <= self.revision()
            root = self.root(self.stream, size) if known else self.digest(f'lost root of size {size}')
            study['signed'] = {'recovery': after, 'size': size, 'root': in_base64(root)}
        log = state('log')
        if self.revision('log') > 1:
            log['signed'] = {'recovery': 0, 'size': 1, 'root': in_base64(self.root('log', 1))}
        self.append('log', 'LogRecovered',
                    {'recovery': recovery, 'reason': reason, 'streams': [state('access'), log]},
                    sections={'studies': {'streams': [{'stream': self.stream, **study}]}})
        return {'recovery': recovery, **study}

    def begin_anew(self, declared, seed=None):
        assert self.revision() == max(declared['kept'], 1)
        if seed is None:
            seed = int.from_bytes(self.digest(f'seed after recovery {declared["recovery"]}')[:16], 'big')
        self.bg_state = saved(numpy.random.PCG64(seed))
        if self.importing:
            self.importing['recovered'] = True
        self.append(self.stream, 'StudyRecovered', declared,
                    sections={'generator': {'seed': str(seed), 'bgState': self.bg_state}})

    def move(self, to, reason=None, arrived_from=None):
        """This is the target if it says where it arrived from, otherwise the source."""
        move = self.uuid4(f'move to {to}')
        self.append('log', 'LogMoved', present(move=move, to=to, reason=reason))
        if arrived_from:
            self.append('log', 'LogArrived', {'move': move, 'from': arrived_from})

    def vector(self):
        imported = {how: self.imported.count(how) for how in ('redrawn', 'unproven')} if self.imported else None
        causes = [person['voided']['cause'] for person in self.enrolled.values() if person['voided']]
        life = {'state': self.status, **self.life, 'voided': {cause: causes.count(cause) for cause in causes},
                **present(imported=imported, peopleUnblinded=len(self.unblinded) or None)}
        amended = {}
        if self.life.get('forced'):
            amended = {'decidedByForced': self.decided_by_forced}
        if self.changes_arms:
            amended |= {'decidedByDesign': self.decided_by_design}
        else:
            for state in self.expected:
                for name in OF_ARMS:
                    state.get('design', {}).pop(name, None)
        if self.design.amendment or self.changes_arms:
            amended |= {'decidedByAmendments': self.decided_by_amendments, 'altered': self.altered}
        else:
            # It is as registered.
            for state in self.expected:
                state.pop('design', None)
        return {
            'about': self.about, 'log': {'id': self.log_id, 'name': self.log_name}, 'study': self.name,
            'stream': self.stream, 'streams': self.streams, 'expected': self.expected,
            'decidedByCounts': self.decided_by_counts, 'findings': {'life': life, 'warnings': self.warnings}, **amended,
        }


def first_difference(right, wrong):
    """The first member of a draw that is wrong, in the order in which they are worked out."""
    name = next(each for each in ('candidates', 'selectedFactor', 'counts', 'balls') if right[each] != wrong[each])
    if isinstance(right[name], str) or len(right[name]) != len(wrong[name]):
        return name
    return name + f'[{next(i for i, (a, b) in enumerate(zip(right[name], wrong[name])) if a != b)}]'


def tells(code, arm):
    """Whether somebody who reads the code reads the arm."""
    return code == arm or len(arm) >= 4 and arm in code


def removed(voided):
    return voided is not None and voided['counts'] == 'removed'


def is_left_out(person):
    """Who came from outside, under a policy that does not count them: whatever happens to them later."""
    return person['forced'] is not None and not person['forced']['counted']


def is_counted(person):
    return not removed(person['voided']) and not is_left_out(person)


def factors(**levels):
    return [{'name': name, 'levels': names} for name, names in levels.items()]


def named(*pairs):
    return [{'name': name, 'levels': levels} for name, levels in pairs]


def ids(first, last, form='001-{:04}'):
    return [form.format(n) for n in range(first, last + 1)]


# The studies

def unstratified():
    h = History('one factor with one level: an unstratified trial of two arms', {
        'name': 'PLAIN-1', 'D': 'range', 'treatments': ['A', 'B'], 'factors': factors(all=['all'])})
    h.key('site', 'randomize', 'read')
    h.register()
    h.enrol('site', *ids(1, 10))
    h.key('data', 'correct', 'blinded')
    h.void('001-0002', 'never-enrolled', by='data')
    h.enrol('site', '001-0011')
    h.void('001-0004', 'ineligible', 'keep', note='17 years old', by='data', request='void-4')
    h.reinstate('001-0002', by='data', request='reinstate-2')
    h.rename('001-0005', '001-0050')
    h.enrol('site', *ids(12, 16))
    return h


def numeric_names():
    h = History('names that look like numbers, ids with a pattern, imbalance by variance', {
        'name': '2026', 'D': 'variance', 'idPattern': '[0-9]{3}-[0-9]{4}', 'targetEnrollment': 300,
        'treatments': ['10', '9', '1.0', '01'],
        'factors': named(('10', ['1', '2']), ('9', ['1', '1.0', '01']), ('1e3', ['-0', '0', 'null', 'true']))})
    h.key('edc', 'randomize', 'blinded')
    h.register()
    h.enrol('edc', *ids(1, 12))
    h.key('editor', 'correct')
    h.correct('001-0001', h.next_levels('001-0001', '9', '10'), by='editor')
    h.enrol('edc', *ids(13, 14))
    h.correct('001-0001', h.next_levels('001-0001', '10'), 'source', by='editor', request='0')
    h.correct('001-0007', h.next_levels('001-0007', '10', '9', '1e3'), 'definition')
    h.enrol('edc', *ids(15, 16))
    h.rename('001-0001', '010-0001', by='editor', request='1')
    h.rename('001-0001', '100-0001', 'pattern', by='editor')
    h.rename('001-0002', '001-0020')
    h.rename('001-0001', '010-0001', 'other')
    h.rename('001-0001', '001-0001')
    h.enrol('edc', *ids(21, 25))
    return h


def paused_by_people():
    h = History('paused and resumed by people at the command line', {
        'name': 'CHS JCOIN', 'idPattern': '[0-9]{3}-[0-9]{4}', 'targetEnrollment': 300,
        'treatments': ['MART', 'RMC-Q', 'RMC-A'],
        'factors': named(('sex', ['Male', 'Female']),
                         ('local_site', ['11-Cook County – Chicago', '30-Dupage County']),
                         ('10', ['new', 'returning']), ('9', ['≤ 1 year', '> 1 year']))}, log_name='jcoin-log')
    h.key('site-11', 'read', 'randomize', studies=['CHS JCOIN'],
          where=[{'factor': 'local_site', 'levels': ['11-Cook County – Chicago']}])
    h.register()
    h.enrol('site-11', *ids(1, 3), behalf='Dr. Müller')
    h.pause('interim analysis')
    h.resume('go on')
    h.enrol('site-11', '001-0004', request='redcap-0b7e11')
    h.pause('a line\nand a second one,\twith a tab')
    h.resume('"quoted" \\ and \u2028 between')
    h.enrol('site-11', *ids(5, 9))
    cook, dupage = '11-Cook County – Chicago', '30-Dupage County'
    h.key('data-11', 'blinded', 'correct', where=[{'factor': 'local_site', 'levels': [cook]}])
    h.key('data-30', 'read', 'correct', studies=['CHS JCOIN'], where=[{'factor': 'local_site', 'levels': [dupage]}])
    h.pause('cleaning of data')
    h.correct('001-0002', {'local_site': dupage}, 'transfer', 'moved house', by='data-11', request='fix-1')
    h.correct('001-0002', h.next_levels('001-0002', 'sex', '10'), 'source', by='data-30', request='fix-1')
    h.correct('001-0003', {'local_site': dupage}, 'transfer', 'asked for by the new site', by='data-30')
    h.rename('001-0002', '001-0102', by='data-30', behalf='Dr. Müller')
    h.void('001-0003', 'other', 'keep', by='data-30')
    h.resume('cleaned')
    h.enrol('site-11', *ids(10, 12))
    h.correct('001-0002', {'local_site': cook}, 'transfer', 'moved back', by='data-11')
    h.reinstate('001-0003', by='data-30')
    h.rename('001-0002', '001-0002', 'other', by='data-11')
    h.enrol('site-11', *ids(13, 20))
    return h


def paused_by_keys():
    h = History('five arms and five factors, paused and resumed by keys, with a request and without', {
        'name': 'FIVE × FIVE', 'D': 'chisquare', 'w': 2, 'alpha': 1, 'beta': 3,
        'treatments': ['α', 'β', 'γ', 'δ', 'ε'],
        'factors': named(('sex', ['m', 'f', 'x']), ('age', ['< 40', '40 – 64', '≥ 65']),
                         ('site', ['Köln', 'Łódź', '東京', 'São Paulo']),
                         ('stage', ['I', 'II', 'III', 'IV']), ('prior', ['yes', 'no']))})
    h.key('nurse', 'randomize', 'blinded')
    h.key('manager', 'manage')
    h.register()
    h.enrol('nurse', *ids(1, 4))
    h.pause('drug supply', by='manager', request='pause-1')
    h.resume('supplied', by='manager', request='resume-1')
    h.enrol('nurse', *ids(5, 8))
    h.pause('audit of the site', by='manager')
    h.resume('audited', by='manager', behalf='Frau Dr. Groß')
    h.enrol('nurse', *ids(9, 11))
    h.pause('by a person, with a request', request='pause-2')
    h.resume('resumed by a person')
    h.enrol('nurse', '001-0012')
    h.pause('paused by a person')
    h.resume('resumed by a key', by='manager')
    h.key('data', 'correct', 'manage')
    h.correct('001-0004', h.next_levels('001-0004', 'age', 'stage', 'prior'), 'definition', by='data')
    h.enrol('nurse', *ids(13, 14))
    h.pause('to correct', by='data')
    h.correct('001-0004', h.next_levels('001-0004', 'sex', 'age', 'site', 'stage', 'prior'), 'other', by='data')
    h.void('001-0006', 'duplicate', duplicate_of='001-0004')
    h.resume('corrected', by='data')
    h.enrol('nurse', *ids(15, 20))
    return h


def stopped_at_limits():
    site = 'local_site'
    h = History('blinded, begins paused, full in all and in a level: limits that stop', {
        'name': 'LIMITS THAT STOP', 'blinding': 'blinded', 'start': 'paused',
        'limits': {'total': 9, 'levels': [{'factor': 'sex', 'level': 'Female', 'max': 3},
                                          {'factor': site, 'level': '30-Dupage County', 'max': 2}]},
        'policies': {'stopAtLimit': True, 'voidCounts': 'removed'},
        'protocol': {'version': '2.0', 'date': '2026-01-10'},
        'targetEnrollment': 9, 'treatments': ['Verum', 'Placebo'],
        'factors': named(('sex', ['Male', 'Female']),
                         (site, ['11-Cook County – Chicago', '30-Dupage County', '40-Lake']))})
    h.key('site', 'blinded', 'randomize')
    h.key('manager', 'manage', 'blinded')
    h.register()
    h.resume('initiation visit done', by='manager', request='open')
    h.enrol('site', '001-0001', levels=['Female', '30-Dupage County'])
    h.enrol('site', '001-0002', levels=['Female', '30-Dupage County'])
    h.enrol('site', '001-0003', levels=['Female', '40-Lake'])
    h.enrol('site', *ids(4, 9))
    h.close('target', '9 randomized', by='manager')
    h.key('data', 'correct', 'blinded')
    h.void('001-0001', 'duplicate', duplicate_of='001-0002', by='data', request='duplicate')
    h.reopen('a duplicate frees a place', [RUIZ], by='manager')
    h.enrol('site', '001-0010', levels=['Female', '30-Dupage County'])
    h.reinstate('001-0001', 'was another person: 10 of 9', by='data')
    h.void('001-0004', 'ineligible', 'keep', note='frees no place', by='data')
    h.void('001-0003', 'never-enrolled', note='9 of 9', by='data')
    h.void('001-0001', 'duplicate', duplicate_of='001-0010', note='8 of 9', by='data')
    h.correct('001-0002', {'sex': 'Male', 'local_site': '40-Lake'}, note='frees both levels', by='data')
    h.enrol('site', '001-0011', levels=['Female', '30-Dupage County'])
    h.correct('001-0011', {'local_site': '11-Cook County – Chicago'}, 'transfer', note='frees a place all the same')
    h.void('001-0005', 'never-enrolled', by='data')
    h.enrol('site', '001-0012', levels=['Male', '30-Dupage County'])
    h.correct('001-0002', {'local_site': '30-Dupage County'}, note='3 of 2: a correction is not stopped', by='data')
    h.reinstate('001-0005', by='data')
    h.void('001-0002', 'duplicate', duplicate_of='001-0005', by='data')
    h.void('001-0006', 'never-enrolled', by='data')
    h.enrol('site', '001-0013')
    for n in (7, 8, 9):
        h.void(f'001-{n:04}', 'duplicate', duplicate_of='001-0005', by='data')
        h.enrol('site', f'001-{n + 7:04}')
    h.close('target', '9 again', by='manager')
    h.correct('001-0013', h.next_levels('001-0013', 'sex'), by='data')
    h.rename('001-0013', '001-0001 b', by='data')
    return h


def informative_limits():
    h = History('limits that stop nobody are exceeded', {
        'name': 'LIMITS THAT INFORM', 'limits': {'total': 5, 'levels': [{'factor': 'b', 'level': 'y', 'max': 1}]},
        'D': 'range', 'alpha': 1, 'beta': 2, 'treatments': ['one', 'two', 'three'],
        'factors': factors(a=['x', 'y'], b=['x', 'y'])})
    h.key('site', 'randomize', 'read')
    h.register()
    h.enrol('site', *ids(1, 8))
    h.void('001-0001', 'duplicate', duplicate_of='001-0002')
    h.enrol('site', '001-0009')
    h.correct('001-0003', h.next_levels('001-0003', 'b'))
    h.void('001-0002', 'duplicate', 'keep', duplicate_of='001-0003')
    h.enrol('site', *ids(10, 20))
    return h


def closed_and_reopened():
    h = History('closed for every cause and reopened with approvals, live', {
        'name': 'CLOSED AND REOPENED', 'D': 'variance', 'treatments': ['A', 'B', 'C'],
        'factors': factors(sex=['m', 'f'], site=['1', '2', '3'])})
    h.key('site', 'randomize', 'blinded')
    h.key('manager', 'manage')
    h.register()
    h.enrol('site', *ids(1, 3))
    h.instead(TOO_EARLY, lambda it: it.close('target', '3 randomized', approvals=[RUIZ, approved_next_day(it)]),
              field='data.approvals[1].on')
    h.close('target', '3 randomized', by='manager', approvals=[RUIZ], request='close-1')
    h.instead(TOO_EARLY, lambda it: it.reopen('target raised', [approved_next_day(it)]), field='data.approvals[0].on')
    h.reopen('target raised', [RUIZ, BOARD], by='manager', request='reopen-1',
             protocol={'version': '3.0', 'date': '2026-09-15'})
    h.enrol('site', *ids(4, 5))
    h.pause('safety signal')
    h.close('safety', 'closed while paused')
    h.reopen('signal refuted', [BOARD])
    h.enrol('site', '001-0006')
    for cause, reason in [('sponsor', 'no money'), ('regulator', 'hold'), ('other', 'flood')]:
        h.close(cause, reason, by='manager' if cause == 'regulator' else None)
        h.reopen(f'after {cause}', [approval('A', 'sponsor', h.latest_day())], protocol={'version': cause})
        h.enrol('site', f'after {cause}')
    h.close('end', 'the last visit of the last participant', approvals=[RUIZ, BOARD])
    h.key('data', 'correct', 'read')
    h.correct('001-0001', h.next_levels('001-0001', 'site'), 'transfer', by='data', request='1')
    h.correct('001-0001', h.next_levels('001-0001', 'site', 'sex'), 'source', by='data')
    h.void('001-0002', 'other', 'keep', by='data', request='2')
    h.void('001-0003', 'duplicate', duplicate_of='001-0002')
    h.reinstate('001-0002', by='data', request='3')
    h.rename('after other', '001-0007', 'pattern', by='data', request='4')
    h.void('after sponsor', 'ineligible', by='data')
    h.reopen('it was not the end', [BOARD], by='manager')
    h.enrol('site', *ids(8, 12))
    h.correct('001-0001', h.next_levels('001-0001', 'site'), by='data')
    h.enrol('site', *ids(13, 18))
    h.close('end', 'now it is', approvals=[RUIZ])
    h.void('001-0012', 'never-enrolled', by='data')
    return h


def test_study():
    h = History('a test with a weak seed, reopened without an approval', {
        'name': 'REHEARSAL', 'mode': 'test', 'treatments': ['A', 'B'], 'factors': factors(site=['1', '2'])}, seed=42)
    h.key('tester', 'randomize', 'read', 'manage')
    h.register()
    h.enrol('tester', *ids(1, 3))
    h.close('other', 'try it', by='tester')
    h.reopen('try it again', [], by='tester', protocol={'version': '1.1'})
    h.enrol('tester', *ids(4, 5))
    h.close('end', 'enough', by='tester', request='end')
    h.reopen('not enough', [])
    h.enrol('tester', '001-0006')
    h.key('editor', 'correct', 'audit')
    for cause in ('entry', 'source', 'definition', 'transfer', 'other', 'transfer', 'entry'):
        h.correct('001-0002', h.next_levels('001-0002', 'site'), cause, by='editor')
    h.enrol('tester', *ids(7, 8))
    h.correct('001-0003', h.next_levels('001-0003', 'site'), by='editor')
    h.enrol('tester', *ids(9, 16))
    return h


def code_breaks():
    h = History('codes broken for every category, by keys and by people, some recorded late', {
        'name': 'CODE-BREAKS', 'blinding': 'blinded', 'treatments': ['Verum', 'Placebo'],
        'factors': factors(sex=['m', 'f'], site=['11', '30'])})
    h.key('nurse', 'randomize', 'blinded')
    h.key('manager', 'manage')
    h.key('desk', 'unblind', 'blinded')
    h.key('site-11', 'unblind', where=[{'factor': 'site', 'levels': ['11']}])
    h.register()
    h.enrol('nurse', '001', levels=['m', '11'])
    h.reveal('emergency', '001', 'anaphylaxis, ICU', by='site-11', requested_by='Dr. K. Ōta', request='er-4711',
             behalf='Nurse J. Okafor')
    h.enrol('nurse', *ids(2, 6, '{:03}'))
    h.reveal('safety-report', '003', 'SUSAR 17')
    h.reveal('monitoring', '004', 'first line\n\tsecond line', by='desk')
    h.pause('review', by='manager')
    h.reveal('planned', '005', 'as planned', requested_by='the statistician')
    h.reveal('emergency', '006', 'status epilepticus', by='desk', shown_ago=3_600_000, request='er-4712')
    h.close('end', 'done', by='manager')
    h.reveal('end', '002', 'the letter to the participant')
    h.reveal('other', '002', 'again', by='desk')
    h.reveal('emergency', '001', 'the same participant again', by='site-11', shown_ago=-1000)
    h.key('data', 'correct', 'blinded')
    h.key('data-11', 'correct', where=[{'factor': 'site', 'levels': ['11']}])
    h.key('site-30', 'unblind', where=[{'factor': 'site', 'levels': ['30']}])
    h.correct('002', h.next_levels('002', 'sex'), by='data', request='c-1')
    h.correct('001', {'site': '30'}, 'transfer', by='data-11', request='c-1')
    h.reveal('emergency', '001', 'at the new site', by='site-30', shown_ago=0)
    h.reveal('emergency', '001', 'at the site where they were randomized', by='site-11')
    h.reopen('more participants', [RUIZ], by='manager')
    h.enrol('nurse', *ids(7, 10, '{:03}'))
    h.correct('001', {'sex': 'f', 'site': '11'}, note='was never there', by='data')
    h.correct('008', h.next_levels('008', 'sex', 'site'), 'definition', by='data')
    h.enrol('nurse', *ids(11, 12, '{:03}'))
    h.void('003', 'duplicate', duplicate_of='004', by='data')
    h.rename('004', '0004', by='data')
    h.reveal('safety-report', '004', 'SUSAR 18', by='desk')
    h.reinstate('003', by='data')
    h.enrol('nurse', *ids(13, 20, '{:03}'))
    return h


def reported_unblindings():
    h = History('unblindings of every kind, reported by keys and by people', {
        'name': 'UNBLINDINGS', 'blinding': 'blinded', 'idPattern': '[A-ZÄΩ][1-9]',
        'policies': {'levelCounts': 'as-randomized'}, 'D': 'range', 'treatments': ['Verum', 'Placebo', 'Placebo 2'],
        'factors': factors(sex=['m', 'f'], site=['11', '30'])})
    h.key('nurse', 'randomize', 'blinded')
    h.key('desk', 'unblind', 'blinded')
    h.register()
    h.enrol('nurse', *ids(1, 5, 'P{}'))
    h.report('envelope', 'P1', 'torn in the post', by='desk', inadvertent=True, request='r-1')
    h.report('label', 'P2', 'the label fell off', ago=86_400_000, requested_by='Dr. 山田')
    h.report('clinical', 'P3', 'no doubt', by='desk')
    mistake = h.reveal('emergency', 'P4', 'the wrong participant', by='desk', request='r-2')
    h.report('disclosure', 'P4', 'P5 was meant', by='desk', inadvertent=True, revealed_at=mistake, ago=0)
    h.reveal('emergency', 'P5', 'the right one', by='desk')
    h.report('other', 'P5', 'told by the pharmacy', ago=-1000)
    h.enrol('nurse', 'P6')
    h.report('envelope', 'P1', '𝔸' * 2000)
    h.key('data', 'correct', 'blinded')
    h.correct('P1', h.next_levels('P1', 'sex'), note='𝔸' * 2000, by='data')
    h.correct('P6', h.next_levels('P6', 'sex', 'site'), note='line\n\ttab', by='data')
    h.report('clinical', 'P6', 'after the correction', by='data', request='r-3')
    h.enrol('nurse', 'P7')
    h.rename('P6', 'Ä6', 'pattern', by='data', request='r-4')
    h.rename('P2', 'Ω2', by='data')
    h.rename('P6', 'P6', 'other')
    h.void('P3', 'never-enrolled', by='data')
    h.enrol('nurse', 'P8', 'P9', 'Q1', 'Q2', 'Q3')
    h.correct('P1', h.next_levels('P1', 'sex'), 'other', by='data')
    h.enrol('nurse', 'Q4', 'Q5', 'Q6')
    return h


def recovered():
    h = History('a backup was restored: the generator begins anew', {
        'name': 'RECOVERED', 'treatments': ['A', 'B', 'C'],
        'factors': factors(sex=['m', 'f'], site=['1', '2'], age=['y', 'o'])})
    h.key('site', 'randomize', 'read')
    h.register()
    h.enrol('site', *ids(1, 4))
    h.begin_anew(h.declare_loss(1, 'disk failure of 21 April', signed=(7, 0)))
    h.enrol('site', *ids(5, 8))
    h.begin_anew(h.declare_loss(3, 'another one', signed=(6, 1)), seed=2**128 - 1)
    h.enrol('site', *ids(9, 11))
    h.correct('001-0003', h.next_levels('001-0003', 'sex', 'age'))
    h.void('001-0004', 'duplicate', duplicate_of='001-0003')
    h.begin_anew(h.declare_loss(4, 'a third one', signed=(2**31, 3)))
    h.correct('001-0003', h.next_levels('001-0003', 'site'))
    h.enrol('site', *ids(12, 13))
    h.reinstate('001-0004')
    h.rename('001-0004', '001-0014')
    h.enrol('site', *ids(15, 20))
    return h


def recovered_from_nothing():
    h = History('the backup was older than the study: registered anew, and the generator begins anew', {
        'name': 'RECOVERED FROM NOTHING', 'D': 'variance', 'treatments': ['A', 'B'],
        'factors': factors(sex=['m', 'f'], site=['1', '2'])})
    h.key('site', 'randomize', 'read')
    declared = h.declare_loss(1, 'the backup of the day before', signed=(12, 0))
    h.register()
    h.begin_anew(declared, seed=0)
    h.enrol('site', *ids(1, 6))
    return h


def recovered_twice():
    h = History('recovered while paused, and once more at the same place: the later recovery counts', {
        'name': 'RECOVERED TWICE', 'D': 'range', 'treatments': ['A', 'B', 'C', 'D'],
        'factors': factors(sex=['m', 'f'], site=['1', '2'])})
    h.key('site', 'randomize', 'read')
    h.register()
    h.enrol('site', *ids(1, 3))
    h.pause('the server fails')
    h.declare_loss(1, 'the first backup')
    h.begin_anew(h.declare_loss(2, 'the first backup again', signed=(3, 0)))
    h.resume('it runs')
    h.enrol('site', *ids(4, 8))
    h.close('target', '8')
    h.begin_anew(h.declare_loss(4, 'while closed', signed=(20, 2)))
    h.reveal('end', '001-0001', 'after the recovery')
    h.reopen('more', [RUIZ])
    h.enrol('site', '001-0009')
    return h


def moved():
    h = History('the log moved here, the target of a second move was lost, and a third one took it away', {
        'name': 'MOVED', 'treatments': ['A', 'B', 'C'], 'factors': factors(sex=['m', 'f'], site=['1', '2'])})
    h.key('site', 'randomize', 'read')
    h.register()
    h.enrol('site', *ids(1, 3))
    h.move('esdb://store:2113/urn', 'new server', arrived_from='sqlite:/var/lib/urn')
    h.enrol('site', '001-0004')
    h.pause('another move')
    h.move('sqlite:/srv/urn')
    h.begin_anew(h.declare_loss(1, 'the new server burned down', signed=(9, 0)))
    h.resume('we stay here')
    h.enrol('site', *ids(5, 8))
    h.move('sqlite:/srv/urn-2')
    return h


def constant_urns():
    h = History('urns that never change: every draw begins with a lot among all factors', {
        'name': 'CONSTANT', 'w': 3, 'alpha': 0, 'beta': 0, 'D': 'range', 'treatments': ['A', 'B', 'C', 'D', 'E'],
        'factors': factors(e=['1', '2'], d=['1', '2'], c=['1', '2'], b=['1', '2'], a=['1', '2'])})
    h.key('site', 'randomize', 'read')
    h.register()
    h.enrol('site', *ids(1, 14))
    return h


def unicode_names():
    # By UTF-16 units, 𝔸 (U+1D538) would come before Ａ (U+FF21).
    h = History('names beyond the basic plane, and factors that UTF-16 would sort otherwise', {
        'name': 'Étude « ¼ » 𝔸', 'D': 'variance', 'alpha': 0, 'beta': 2,
        'treatments': ['💊', 'e\u0301', 'é', 'a "b" \\ c'],
        'factors': named(('Ａ', ['１', '1']), ('𝔸', ['ß', 'ss', 'SS']), ('z', ['\u200d', '\u2028', '/']),
                         ('É', ['λ', 'Λ']))},
        log_name='журнал')
    h.key('Schwester Åse', 'randomize', 'read', where=[{'factor': '𝔸', 'levels': ['ß', 'SS']}])
    h.key('ワード', 'randomize', 'blinded',
          where=[{'factor': 'Ａ', 'levels': ['１', '1']}, {'factor': 'É', 'levels': ['Λ']}])
    h.register()
    h.enrol('Schwester Åse', 'Ünïcode 1', '💉', '01', '1', '1.0', 'a "b" \\ c', 'x\u2028y', behalf='Dr. Ōta „K.“')
    h.enrol('ワード', 'e\u0301', 'é', '𝔸' * 128)
    h.key('Корректор', 'correct', 'read', where=[{'factor': '𝔸', 'levels': ['ß', 'SS']}])
    h.correct('01', {'𝔸': 'SS' if h.levels_of('01')['𝔸'] == 'ß' else 'ß'}, note='ß \u2260 SS', by='Корректор')
    h.correct('1.0', {'𝔸': 'ss', **h.next_levels('1.0', 'Ａ', 'É')}, 'transfer', by='Корректор', behalf='Dr. Ōta „K.“')
    h.correct('💉', h.next_levels('💉', 'Ａ', '𝔸', 'z', 'É'), note='\u2028')
    h.rename('e\u0301', 'E\u0301', 'pattern')
    h.rename('é', 'É')
    h.rename('e\u0301', 'e\u0301', 'other')
    h.rename('01', '001', by='Корректор')
    h.void('1', 'duplicate', duplicate_of='01', by='Корректор')
    h.enrol('Schwester Åse', '1.00', '01.0')
    h.enrol('ワード', '۱', '١')
    h.reinstate('1', by='Корректор', behalf='д-р Ж.')
    return h


def large_numbers():
    h = History('a seed of 200 bits, many balls, and alpha above beta', {
        'name': 'LARGE NUMBERS', 'w': 10**9, 'alpha': 123_456_789, 'beta': 7, 'treatments': ['A', 'B', 'C'],
        'factors': factors(sex=['m', 'f'], site=['1', '2'], age=['y', 'o'])}, seed=3**126)
    h.key('site', 'randomize', 'read')
    h.register()
    h.enrol('site', *ids(1, 9))
    return h


def policies():
    h = History('every policy that an open study may have, and a protocol without a date; the seed is 0', {
        'name': 'POLICIES',
        'policies': {'stopAtLimit': True, 'levelCounts': 'as-corrected', 'voidCounts': 'removed',
                     'forcedCounts': 'not-counted'},
        'limits': {'levels': [{'factor': 'site', 'level': '2', 'max': 1},
                              {'factor': 'site', 'level': '3', 'max': 2}]},
        'protocol': {'version': 'A'}, 'alpha': 2, 'beta': 1, 'treatments': ['A', 'B'],
        'factors': factors(sex=['m', 'f'], site=['1', '2', '3'])}, seed=0)
    h.key('site', 'randomize', 'read')
    h.register()
    h.enrol('site', '001-0001', levels=['m', '2'])
    h.enrol('site', '001-0002', levels=['f', '3'])
    h.enrol('site', '001-0003', levels=['f', '3'])
    h.enrol('site', *ids(4, 7))
    h.key('data', 'correct', 'read')
    h.void('001-0001', 'duplicate', duplicate_of='001-0002', by='data', request='1')
    h.enrol('site', '001-0008', levels=['f', '2'])
    h.correct('001-0001', {'sex': 'f'}, note='of somebody whom the urns do not hold', by='data')
    h.enrol('site', '001-0009')
    h.reinstate('001-0001', 'the urns hold her where she was corrected to: 2 of 1', by='data', request='2')
    h.enrol('site', '001-0010')
    h.void('001-0002', 'duplicate', duplicate_of='001-0001', note='the other way round', by='data')
    h.correct('001-0003', {'site': '1'}, 'transfer', note='the urns hold her at 3')
    h.enrol('site', '001-0011', levels=['m', '3'])
    h.correct('001-0003', {'site': '2'}, 'definition', note='and now, from 3, at 2', by='data', request='3')
    h.enrol('site', '001-0012')
    h.void('001-0003', 'never-enrolled', by='data')
    h.void('001-0004', 'ineligible', 'keep', by='data')
    h.enrol('site', *ids(13, 14))
    h.begin_anew(h.declare_loss(1, 'between a void and its end', signed=(40, 0)))
    h.reinstate('001-0003', by='data')
    h.correct('001-0004', h.next_levels('001-0004', 'sex'), note='voided, and still in the urns', by='data')
    h.correct('001-0004', h.next_levels('001-0004', 'sex'), 'other', by='data')
    h.correct('001-0005', h.next_levels('001-0005', 'sex', 'site'), 'source', by='data')
    h.enrol('site', '001-0015')
    h.reinstate('001-0004', 'the urns did not miss him')
    h.void('001-0006', 'duplicate', duplicate_of='001-0002', note='of somebody who is voided', by='data')
    h.reinstate('001-0002', by='data')
    h.void('001-0001', 'duplicate', duplicate_of='001-0006', note='the three in a circle, but for one', by='data')
    h.rename('001-0001', '001-0100', by='data')
    h.void('001-0007', 'other', 'exclude', by='data')
    h.enrol('site', *ids(16, 20))
    h.reinstate('001-0006', by='data')
    h.enrol('site', *ids(21, 23))
    for participant in ('001-0003', '001-0005', '001-0008'):
        h.correct(participant, {'site': '1'}, 'transfer', note='the urn of 2 still holds them', by='data')
    h.enrol('site', '001-0024', levels=['m', '2'])
    h.enrol('site', *ids(25, 27))
    return h


def keys_of_all_kinds():
    h = History('keys that expired and were revoked, and a clock that stepped back', {
        'name': 'KEYS', 'D': 'chisquare', 'treatments': ['A', 'B', 'C'],
        'factors': factors(sex=['m', 'f'], site=['1', '2', '3'])})
    until = h.later(days=2)
    h.key('site-1', 'randomize', 'read', studies=['another study', 'KEYS'],
          where=[{'factor': 'site', 'levels': ['1', '2']}])
    h.key('site-3', 'randomize', 'audit', expires_at=until)
    h.key('desk', 'unblind', 'blinded', expires_at=until)
    h.key('chief', 'manage', 'audit')
    h.key('monitor', 'audit')
    h.register()
    h.enrol('site-1', *ids(1, 3))
    h.enrol('site-3', '001-0004', request='a')
    h.enrol('site-1', '001-0005', request='a')
    h.step_back(ms=600)
    h.enrol('site-1', '001-0006')
    revoked = h.clock
    h.revoke('site-1', reason='lost')
    h.clock, h.unheard = revoked + 500, 1
    h.enrol('site-1', 'before it was heard')
    h.unheard = 0
    h.clock = milliseconds(until) + 14_000
    h.enrol('site-3', 'waited for 14 s')
    h.wait(days=1)
    h.reveal('emergency', '001-0004', 'shown before the key expired', by='desk',
             shown_ago=h.clock - milliseconds(until) + 1)
    h.key('site-2', 'randomize', 'blinded')
    h.revoke('monitor')
    h.pause('another hand', by='chief', request='a')
    h.resume('the same hand', by='chief', request='b')
    h.enrol('site-2', '001-0007', request='b')
    until = h.later(days=3)
    h.key('data-1', 'correct', 'randomize', expires_at=until, where=[{'factor': 'site', 'levels': ['1']}])
    h.key('data-23', 'correct', where=[{'factor': 'site', 'levels': ['2', '3']}, {'factor': 'sex', 'levels': ['f']}])
    h.enrol('data-1', '001-0008', levels=['m', '1'], request='a')
    h.correct('001-0008', {'sex': 'f'}, by='data-1', request='b')
    h.correct('001-0008', {'site': '2'}, 'transfer', by='data-23', request='a')
    h.correct('001-0008', {'site': '3'}, by='data-23', request='b')
    h.void('001-0008', 'other', by='data-23', request='c')
    h.step_back(ms=900)
    h.reinstate('001-0008', by='data-23', request='d')
    h.rename('001-0008', '001-0800', by='data-23', request='e')
    h.correct('001-0008', {'site': '1'}, 'transfer', by='data-1', request='c')
    h.rename('001-0008', '001-0080', by='data-1', request='d')
    h.correct('001-0008', {'sex': 'm', 'site': '2'}, 'transfer', by='data-1')
    revoked = h.clock
    h.revoke('data-23', reason='left')
    h.clock, h.unheard = revoked + 500, 1
    h.correct('001-0008', {'sex': 'f', 'site': '3'}, 'transfer', note='before it was heard', by='data-23')
    h.unheard = 0
    h.enrol('data-1', '001-0081', levels=['f', '1'])
    h.clock = milliseconds(until) + 14_000
    h.correct('001-0081', {'sex': 'm'}, note='waited for 14 s', by='data-1')
    h.enrol('site-2', *ids(9, 14))
    return h


def everything():
    h = History('all of it in one study', {
        'name': 'EVERYTHING', 'blinding': 'blinded', 'start': 'paused', 'limits': {'total': 20},
        'policies': {'forcedCounts': 'not-counted'},
        'protocol': {'version': '1.0', 'date': '2024-02-29'}, 'idPattern': 'S[0-9]{2}', 'targetEnrollment': 15,
        'alpha': 1, 'beta': 4, 'D': 'variance', 'treatments': ['A', 'B', 'C', 'D'],
        'factors': named(('2', ['a', 'b', 'c']), ('10', ['a', 'b']), ('site', ['Nord', 'Süd']))})
    h.key('nurse', 'randomize', 'blinded')
    h.key('manager', 'manage')
    h.key('desk', 'unblind', 'blinded')
    h.register()
    h.resume('begin')
    h.enrol('nurse', *ids(1, 4, 'S{:02}'))
    h.pause('look at it', by='manager')
    h.begin_anew(h.declare_loss(1, 'restored', signed=(9, 0)))
    h.resume('looked', by='manager', request='1')
    h.enrol('nurse', *ids(5, 8, 'S{:02}'), behalf='Dr. B.')
    mistake = h.reveal('emergency', 'S02', 'hypoglycaemia', by='desk', shown_ago=1500, request='1')
    h.report('disclosure', 'S02', 'S03 was meant', inadvertent=True, revealed_at=mistake)
    h.move('sqlite:/new', arrived_from='sqlite:/old')
    h.close('regulator', 'hold', by='manager', approvals=[RUIZ], request='2')
    h.reveal('monitoring', 'S03', 'ordered by the authority')
    h.reopen('hold lifted', [RUIZ], by='manager', protocol={'version': '2.0', 'date': '2026-09-15'})
    h.enrol('nurse', *ids(9, 14, 'S{:02}'))
    h.report('label', 'S09', 'read by the participant', by='desk', request='2')
    h.pause('wait')
    h.close('target', '14 of 15', approvals=[BOARD])
    h.key('data', 'correct', 'blinded')
    h.correct('S01', h.next_levels('S01', '2'), by='data', request='1')
    h.void('S04', 'duplicate', duplicate_of='S01', by='data', request='2')
    h.rename('S05', 'S50', by='data', request='3')
    h.reopen('duplicates found', [BOARD], by='manager')
    h.enrol('nurse', 'S15')
    h.void('S06', 'never-enrolled', by='data')
    h.correct('S03', h.next_levels('S03', '10', 'site'), 'transfer', by='data')
    h.correct('S03', h.next_levels('S03', '2'), 'source', by='data')
    h.begin_anew(h.declare_loss(2, 'restored again', signed=(10**9, 1)))
    h.correct('S02', h.next_levels('S02', '2', 'site'), 'definition', by='data')
    h.enrol('nurse', *ids(16, 17, 'S{:02}'))
    h.move('sqlite:/newer', arrived_from='sqlite:/new')
    h.correct('S03', h.next_levels('S03', 'site'), by='data')
    h.reinstate('S04', by='data')
    h.enrol('nurse', *ids(18, 20, 'S{:02}'))
    h.pause('the last ones', by='manager')
    h.rename('S05', 'S05', 'other', by='data')
    h.correct('S20', h.next_levels('S20', 'site'), 'other')
    h.close('end', '20 of 20', by='manager')
    return h


def imported_and_continued():
    h = History('imported from the reference with its seed, races and all, and continued where it stopped', {
        'name': 'IMPORTED, CONTINUED', 'treatments': ['A', 'B', 'C'],
        'policies': {'levelCounts': 'as-corrected', 'voidCounts': 'removed'},
        'factors': factors(sex=['m', 'f'], site=['1', '2', '3'])}, seed=2**127 + 2026)
    h.key('site', 'randomize', 'read')
    h.register()
    there = OtherSystem(h, h.seed)
    there.draw(*ids(1, 4))
    # A second request read the state that the first one read, and counted the same, or more.
    there.draw('001-0005', back=2, missed=1)
    there.draw('001-0006')
    there.draw('001-0007', back=3)
    there.draw(*ids(8, 9))
    there.draw('001-0010', back=3)
    there.draw('001-0011', outcome='override')
    there.draw('001-0012')
    there.draw('001-0013', back=2, outcome='override')
    there.enter('001-0014', 1, ['m', '2'])
    there.draw('001-0015', back=2)
    there.draw('001-0016', is_shown=False)
    there.draw('001-0017')
    there.draw('001-0018', state=saved(numpy.random.PCG64(7)))
    there.draw(*ids(19, 29))
    there.draw('001-0030', back=4, levels=['m', '3'])
    there.draw(*ids(31, 33))
    there.draw('001-0034', back=32, missed=31)
    there.draw(*ids(35, 52))
    # One row too far back.
    there.draw('001-0053', back=33)
    there.draw('001-0054', back=32, missed=28, levels=['f', '3'])
    there.draw(*ids(55, 57))
    # The seed is looked at however far back it is, with the counts before the first row and those of the last ones.
    there.draw('001-0058', back=58, missed=57)
    there.draw('001-0059', back=59, missed=10)
    there.draw(*ids(60, 62))
    h.import_history(there.file(), generator='continued', seed_known=True, approvals=[RUIZ])
    h.enrol('site', *ids(63, 66))
    h.key('data', 'correct', 'read')
    h.correct('001-0005', h.next_levels('001-0005', 'sex', 'site'), by='data')
    h.enrol('site', *ids(67, 68))
    h.void('001-0011', 'duplicate', duplicate_of='001-0012', by='data')
    h.correct('001-0014', h.next_levels('001-0014', 'site'), 'transfer', by='data')
    h.enrol('site', *ids(69, 70))
    h.rename('001-0018', '001-0180', by='data')
    h.reinstate('001-0011', by='data')
    h.correct('001-0067', h.next_levels('001-0067', 'sex'), by='data')
    h.enrol('site', *ids(71, 74))
    return h


def imported_while_paused():
    h = History('imported while paused, in no order, with instants of every form; a code is broken meanwhile', {
        'name': 'IMPORTED, FRESH', 'blinding': 'blinded', 'start': 'paused', 'D': 'variance', 'w': 2, 'alpha': 1,
        'beta': 3, 'policies': {'stopAtLimit': True}, 'limits': {
            'total': 34, 'levels': [{'factor': 'site', 'level': 'Nord', 'max': 21}]},
        'treatments': ['standard', 'new'], 'factors': factors(sex=['m', 'f'], site=['Nord', 'Süd'], age=['y', 'o'])})
    h.key('nurse', 'randomize', 'blinded')
    h.key('desk', 'unblind', 'blinded')
    h.key('data', 'correct', 'blinded')
    h.register()
    there = OtherSystem(h, 5)
    there.draw('P01', at='2025-12-31T23:59:59.999999')
    there.draw('P02', at='2026-01-01T00:00:00', form='%Y-%m-%d')
    there.draw('P03', at='2026-01-01T00:00:00.000001', levels=['f', 'Nord', 'y'])
    there.draw('P04', at='2026-01-01T09:30:00', form='%Y-%m-%d %H:%M:%S', levels=['m', 'Nord', 'o'])
    there.draw('P05', at='2026-01-01T10:00:00.5', form='%Y-%m-%d %H:%M:%S.5', levels=['f', 'Nord', 'o'])
    # Later, although the clock shows less.
    there.draw('P06', at='2026-01-01T10:00:00.500999', form='%Y-%m-%dT%H:%M:%S.%f-11:30', offset=-690)
    there.draw('P07', at='2026-01-01T10:00:00.501', form='%Y-%m-%d %H:%M:%S.501+14:00', offset=840,
               levels=['m', 'Nord', 'y'], user='Åse „K.“')
    there.draw('P08', form='%Y-%m-%dT%H:%M:%S.%fZ')
    there.draw('P09', form='%Y-%m-%d %H:%M:%S.%f+00:00')
    there.draw('P10', form='%Y-%m-%dT%H:%M:%S.%f+0530', offset=330)
    # Three of one instant: the one behind was drawn from the first of them.
    there.draw('P11')
    there.at_once()
    there.draw('P12', form='%Y-%m-%d %H:%M:%S.%f+01:00', offset=60)
    there.at_once()
    there.draw('P13')
    there.draw('P14', back=3)
    there.draw('P15', is_shown=False)
    there.at_once()
    there.draw('P16', back=2, missed=1)
    there.draw(*ids(17, 30, 'P{}'))
    h.begin_import(there.file(is_shuffled=True), names={'ndard': 'standard', 'new (2)': 'new'},
                   approvals=[RUIZ, BOARD])
    h.import_rows(3)
    h.reveal('emergency', 'P02', 'anaphylaxis, ICU', by='desk', request='1', shown_ago=1000)
    h.import_rows(20)
    h.report('label', 'P05', 'read by the participant', by='desk', inadvertent=True)
    h.move('sqlite:/new', arrived_from='sqlite:/old')
    h.reveal('planned', 'P01', 'as planned')
    h.import_rows()
    h.reveal('other', 'P30', 'between the last row and the end', by='desk')
    h.end_import()
    h.correct('P02', h.next_levels('P02', 'sex', 'age'), by='data')
    h.resume('imported')
    h.enrol('nurse', 'P31')
    h.correct('P05', {'site': 'Süd'}, note='21 of 21', by='data')
    h.correct('P07', {'site': 'Süd'}, 'definition', note='20 of 21', by='data')
    h.enrol('nurse', 'P32', levels=['m', 'Nord', 'y'])
    h.enrol('nurse', *ids(33, 34, 'P{}'))
    h.void('P15', 'never-enrolled', by='data')
    h.enrol('nurse', 'P35')
    h.void('P12', 'duplicate', duplicate_of='P13', by='data')
    h.correct('P14', h.next_levels('P14', 'sex'), by='data')
    h.enrol('nurse', 'P36')
    h.rename('P03', 'P03a', by='data')
    h.reveal('safety-report', 'P03', 'SUSAR', by='desk')
    h.close('target', '34 randomized')
    h.correct('P01', h.next_levels('P01', 'age'), by='data')
    return h


def imported_from_another_system():
    h = History('a rehearsal: imported without states and without an approval, over a limit that informs', {
        'name': 'IMPORTED, CSV', 'mode': 'test', 'limits': {'total': 3}, 'D': 'range',
        'treatments': ['Verum', 'Placebo', 'Ø'],
        'factors': named(('sex', ['m', 'f']), ('10', ['<', '>']))}, seed=1)
    h.key('tester', 'randomize', 'read', 'manage')
    h.register()
    h.pause('to import', by='tester')
    h.resume('not now', by='tester')
    there = OtherSystem(h, 3, form='%Y-%m-%dT%H:%MZ')
    levels = itertools.cycle([['m', '<'], ['f', '>'], ['f', '<']])
    for n, arm in enumerate([0, 0, 1, 0, 2, 0, 1]):
        there.enter(f'{n}', arm, next(levels), at=f'2026-02-2{n}T06:0{n}:00', user='other EDC')
    h.import_history(there.file(), source_format='csv', names={'1': 'Verum', '0': 'Placebo', '9': 'Ø'})
    h.enrol('tester', *ids(7, 10, '{}'))
    h.correct('0', h.next_levels('0', 'sex'))
    h.enrol('tester', *ids(11, 14, '{}'))
    h.begin_anew(h.declare_loss(1, 'after an import', signed=(90, 0)))
    h.correct('12', h.next_levels('12', '10'), 'source')
    h.enrol('tester', *ids(15, 18, '{}'))
    return h


def imports_given_up():
    h = History('imports that were given up, one behind a recovery, and another one of the same ids', {
        'name': 'IMPORTS GIVEN UP', 'treatments': ['A', 'B'],
        'factors': factors(sex=['m', 'f'], site=['1', '2', '3'])}, seed=3**80)
    h.key('site', 'randomize', 'read')
    h.key('manager', 'manage')
    h.register()
    there = OtherSystem(h, 11)
    there.draw(*ids(1, 6))
    wrong = there.file()
    h.instead(TOO_EARLY, lambda it: it.begin_import(wrong, approvals=[approved_next_day(it)]),
              field='data.approvals[0].on')
    h.begin_import(wrong, approvals=[RUIZ])
    h.abort_import('no row yet')
    h.pause('to look at the file', by='manager')
    h.begin_import(wrong, seed_known=True, approvals=[RUIZ])
    h.import_rows(4)
    h.reveal('emergency', '001-0002', 'of somebody who is imported again')
    h.begin_anew(h.declare_loss(1, 'while importing', signed=(40, 0)))
    h.import_rows()
    h.abort_import('the file of another study')
    h.resume('we begin without the others', by='manager')
    there = OtherSystem(h, h.seed, form='%Y-%m-%d %H:%M:%S.%f+02:00')
    there.draw('001-0003', '001-0001', '001-0002', offset=120)
    there.draw('001-0004', back=2, missed=1, offset=120)
    h.begin_import(there.file(is_shuffled=True), seed_known=True, approvals=[BOARD])
    h.import_rows(2)
    h.abort_import('a row is missing there')
    # The code of the first 001-0002 was broken, not that of this one.
    h.enrol('site', *ids(1, 5))
    h.correct('001-0002', h.next_levels('001-0002', 'site'))
    h.void('001-0003', 'duplicate', duplicate_of='001-0002')
    h.enrol('site', *ids(6, 8))
    return h


def imported_again():
    h = History('given up, and imported again: the states before the first row are not known, and some are missing', {
        'name': 'IMPORTED AGAIN', 'D': 'range', 'alpha': 1, 'beta': 2, 'treatments': ['A', 'B', 'C', 'D'],
        'factors': factors(sex=['m', 'f'], site=['1', '2'])}, seed=3**81)
    h.key('site', 'randomize', 'read')
    h.key('manager', 'manage')
    h.register()
    h.begin_anew(h.declare_loss(1, 'before the import', signed=(9, 0)))
    there = OtherSystem(h, 12)
    there.enter('001-0001', 3, ['m', '1'])
    there.draw('001-0002', is_shown=False)
    there.draw(*ids(3, 8))
    # The last two are of one instant: the generator goes on behind the first of them in the file.
    there.at_once()
    there.draw('001-0009')
    rows = there.file(is_shuffled=True)
    h.begin_import(rows, approvals=[RUIZ])
    h.import_rows(5)
    h.abort_import('the instants were wrong')
    h.pause('once more', by='manager')
    h.import_history(rows, generator='continued', approvals=[RUIZ])
    h.resume('imported', by='manager')
    h.enrol('site', *ids(10, 13))
    h.key('data', 'correct')
    h.correct('001-0002', h.next_levels('001-0002', 'sex'), by='data')
    h.void('001-0001', 'other', by='data')
    h.enrol('site', *ids(14, 16))
    return h


def recovered_while_importing():
    h = History('recovered in the middle of an import: the generator of the recovery counts, not that of the import', {
        'name': 'RECOVERED WHILE IMPORTING', 'policies': {'levelCounts': 'as-corrected'},
        'treatments': ['A', 'B'], 'factors': factors(sex=['m', 'f'], site=['1', '2'], age=['y', 'o'])}, seed=3**82)
    h.key('site', 'randomize', 'read')
    h.register()
    there = OtherSystem(h, h.seed)
    there.draw('001-0001', '001-0002')
    there.draw('001-0003', '001-0004', back=3, missed=2)
    there.draw(*ids(5, 9))
    h.begin_import(there.file(), seed_known=True, approvals=[RUIZ])
    h.import_rows(5)
    h.begin_anew(h.declare_loss(1, 'the backup had five rows', signed=(14, 0)))
    h.import_rows()
    h.end_import()
    h.enrol('site', *ids(10, 12))
    h.correct('001-0004', h.next_levels('001-0004', 'site', 'age'))
    h.enrol('site', *ids(13, 16))
    h.close('end', 'it is over')
    h.void('001-0006', 'duplicate', duplicate_of='001-0005')
    h.reopen('it is not', [BOARD])
    h.enrol('site', *ids(17, 18))
    return h


def pick_for_draw(sections):
    draw = sections.pop('draw')
    sections['pick'] = {'weights': draw['balls'],
                        **{name: draw[name] for name in ('bgStateBefore', 'bgStateAfter', 'salt', 'uniform53')}}


def sites_come_and_go():
    h = History('levels added, closed and reopened between allocations, by keys and by people', {
        'name': 'SITES COME AND GO', 'treatments': ['A', 'B', 'C'], 'protocol': {'version': '1.0'},
        'factors': factors(sex=['m', 'f'], site=['11', '30'])})
    h.key('nurse', 'randomize', 'blinded')
    h.key('manager', 'manage')
    h.key('data', 'correct', 'blinded')
    # Of a site that there is not yet.
    h.key('site-50', 'randomize', where=[{'factor': 'site', 'levels': ['50', '60']}])
    h.register()
    h.enrol('nurse', *ids(1, 5))
    h.instead('a level that is added by the next amendment', lambda it: it.enrol('nurse', '001-0006'),
              lambda data: data['levels'][1].update(level='50'))
    h.instead('a pick in place of the draw', lambda it: it.enrol('nurse', '001-0006'), sections=pick_for_draw)
    h.amend(added('site', '50'), by='manager', request='site-50', reason='a new site')
    h.enrol('site-50', *ids(6, 7))
    h.enrol('nurse', '001-0008', levels=['m', '11'])
    h.amend(closed('site', '11'), approvals=[RUIZ, BOARD], protocol={'version': '2.0', 'date': '2026-04-01'})
    h.instead('an allocation at a closed level', lambda it: it.enrol('nurse', '001-0009', levels=['f', '11']))
    h.instead('a number is left out', lambda it: it.amend(added('site', '60'), by='manager'),
              lambda data: data.update(amendment=4))
    h.instead('a number comes twice', lambda it: it.amend(added('site', '60'), by='manager'),
              lambda data: data.update(amendment=2))
    h.enrol('nurse', *ids(9, 10))
    h.correct('001-0006', {'site': '11'}, by='data', note='to a closed level')
    h.enrol('nurse', '001-0011')
    h.instead('an idempotency key that was used before', lambda it: it.amend(
        added('site', '60'), by='manager', request='site-50'), found=['full'])
    h.instead('the only open level of a factor is closed',
              lambda it: it.amend(closed('site', '30')),
              lambda data: data['changes'].extend([closed('site', '50')]))
    h.instead('a level that is closed already', lambda it: it.amend(closed('site', '30')),
              lambda data: data['changes'][0].update(level='11'))
    h.instead('a level that is not closed is reopened', lambda it: it.amend(reopened('site', '11')),
              lambda data: data['changes'][0].update(level='30'))
    h.instead('a level is added that there is', lambda it: it.amend(added('site', '60')),
              lambda data: data['changes'][0].update(level='30'))
    h.instead('a level is added that is closed', lambda it: it.amend(added('site', '60')),
              lambda data: data['changes'][0].update(level='11'))
    h.instead('a factor that the study does not have', lambda it: it.amend(added('site', '60')),
              lambda data: data['changes'][0].update(factor='age'))
    h.instead('it does not say what the urns count from there on', lambda it: it.amend(added('site', '60')),
              lambda data: data.pop('history'))
    h.instead('approved by nobody, in a live study', lambda it: it.amend(added('site', '60'), approvals=[]))
    h.instead('approved on a day that there is not', lambda it: it.amend(
        added('site', '60'), approvals=[approval('A', 'sponsor', '2026-02-29')]))
    h.instead(TOO_EARLY, lambda it: it.amend(added('site', '60'), approvals=[approved_next_day(it)]),
              field='data.approvals[0].on')
    h.instead('by a key that may not', lambda it: it.amend(added('site', '60'), by='data'))
    h.amend(added('site', '60'), closed('site', '30'), added('sex', 'x'), closed('sex', 'f'), by='manager')
    h.enrol('nurse', '001-0012', levels=['x', '60'])
    h.enrol('site-50', *ids(13, 15))
    h.amend(reopened('site', '11'), closed('site', '50'), reopened('sex', 'f'))
    h.instead('drawn as if the urn of a reopened level began anew',
              lambda it: it.enrol('nurse', '001-0016', levels=['f', '11'], counts=it.counts_anew()),
              found=['full'])
    h.enrol('nurse', '001-0016', levels=['f', '11'])
    h.enrol('nurse', *ids(17, 20))
    # Added, closed and opened again in one amendment: it begins empty.
    h.amend(added('site', '70'), closed('site', '70'), reopened('site', '30'), reopened('site', '70'),
            closed('site', '60'), by='manager', behalf='Frau Dr. Groß', request='1')
    h.void('001-0012', 'duplicate', duplicate_of='001-0013', note='of two closed levels', by='data')
    h.correct('001-0016', {'site': '70', 'sex': 'x'}, 'transfer', by='data')
    h.enrol('nurse', *ids(21, 26))
    h.amend(reopened('site', '50'), reopened('site', '60'), closed('site', '11'), closed('sex', 'x'))
    h.enrol('site-50', *ids(27, 28))
    h.enrol('nurse', *ids(29, 32))
    return h


def names_back_and_forth():
    site = 'site'
    h = History('levels renamed, back and forth, with corrections before and after and voids that remove', {
        'name': 'NAMES BACK AND FORTH', 'blinding': 'blinded', 'D': 'variance', 'treatments': ['Verum', 'Placebo'],
        'policies': {'voidCounts': 'removed'},
        # The same names in two factors: a renaming is of one of them.
        'factors': factors(sex=['m', 'f', 'x'], site=['Cook', 'Dupage', 'm'])})
    h.key('nurse', 'randomize', 'blinded')
    h.key('data', 'correct', 'blinded')
    h.key('cook', 'randomize', 'correct', 'blinded', where=[{'factor': site, 'levels': ['Cook']}])
    h.key('desk', 'unblind', where=[{'factor': site, 'levels': ['Cook']}])
    h.register()
    h.enrol('nurse', *ids(1, 8))
    h.correct('001-0001', h.next_levels('001-0001', 'sex', site), by='data')
    h.correct('001-0002', {'sex': 'x' if h.levels_of('001-0002')['sex'] == 'm' else 'm'}, by='data')
    h.correct('001-0003', h.next_levels('001-0003', site), 'transfer', note='the urns hold them where they were')
    h.void('001-0004', 'duplicate', duplicate_of='001-0005', by='data')
    h.amend(renamed(site, 'Cook', '11 – Cook County'), renamed('sex', 'm', 'male', alias=True))
    h.key('county', 'randomize', 'correct', 'blinded', where=[{'factor': site, 'levels': ['11 – Cook County']}])
    h.instead('a level by its old name', lambda it: it.enrol('cook', '001-0009', levels=['f', '11 – Cook County']),
              lambda data: data['levels'][1].update(level='Cook'))
    h.instead('a level by an alias', lambda it: it.enrol('cook', '001-0009', levels=['male', '11 – Cook County']),
              lambda data: data['levels'][0].update(level='m'))
    h.instead('drawn as if the urn of a renamed level began anew', lambda it: it.enrol(
        'nurse', '001-0009', levels=['male', '11 – Cook County'], counts=it.counts_anew()), found=['full'])
    h.enrol('cook', *ids(9, 10))
    h.enrol('county', '001-0011')
    moved = next(i for i in ids(1, 8) if h.levels_of(i)[site] == '11 – Cook County' and i != '001-0004')
    h.instead('corrected from an old name', lambda it: it.correct(moved, {site: 'Dupage'}, by='data'),
              lambda data: data['changes'][0].update({'from': 'Cook'}))
    h.instead('corrected to an old name',
              lambda it: it.correct('001-0009', h.next_levels('001-0009', site), by='data'),
              lambda data: data['changes'][0].update(to='Cook'))
    before = h.counts()
    h.correct(moved, {site: 'Dupage'}, by='data')
    h.reveal('emergency', moved, 'they were randomized at what was Cook', by='desk')
    h.correct('001-0003', h.next_levels('001-0003', 'sex', site), note='what the urns held until now')
    h.instead('drawn by the counts from before two corrections', lambda it: it.enrol(
        'nurse', '001-0012', levels=['male', 'Dupage'], counts=before), found=['full'])
    h.enrol('nurse', *ids(12, 13))
    h.correct('001-0009', h.next_levels('001-0009', 'sex'), 'other', by='cook', request='1')
    h.reinstate('001-0004', 'where the urns held them, under the name of now', by='data')
    h.enrol('nurse', '001-0014')
    h.void('001-0002', 'never-enrolled', by='data')
    h.instead('the name of another level', lambda it: it.amend(renamed(site, 'Dupage', 'D')),
              lambda data: data['changes'][0].update(to='11 – Cook County'))
    h.instead('a name that another level had', lambda it: it.amend(renamed(site, 'Dupage', 'D')),
              lambda data: data['changes'][0].update(to='Cook'))
    h.instead('renamed to the name that it has', lambda it: it.amend(renamed(site, 'Dupage', 'D')),
              lambda data: data['changes'][0].update(to='Dupage'))
    h.instead('a new level has a name that another one had', lambda it: it.amend(added(site, 'New')),
              lambda data: data['changes'][0].update(level='Cook'))
    h.instead('a renaming of a level by its old name', lambda it: it.amend(
        renamed(site, '11 – Cook County', 'C')), lambda data: data['changes'][0].update(level='Cook'))
    # Back to its own earlier name, and in the other factor a name that was never one of it.
    h.amend(renamed(site, '11 – Cook County', 'Cook'), renamed(site, 'm', 'f'), renamed('sex', 'x', 'Dupage'),
            policy('levelCounts', 'as-randomized'))
    h.instead('counted by the policy from before the amendment', lambda it: it.correct(
        '001-0005', h.next_levels('001-0005', 'sex'), by='data'), lambda data: data.update(counts='as-corrected'))
    h.correct('001-0005', h.next_levels('001-0005', 'sex', site), by='data')
    h.correct('001-0006', h.next_levels('001-0006', site), 'source', by='data')
    h.enrol('cook', '001-0015')
    h.enrol('county', *ids(16, 17))
    h.amend(renamed(site, 'Cook', '11 – Cook County', alias=True), renamed(site, 'f', 'm'), closed(site, 'm'),
            renamed(site, 'm', 'f'), policy('levelCounts', 'as-corrected'), policy('voidCounts', 'kept'))
    h.correct('001-0005', h.next_levels('001-0005', 'sex', site), note='from where the urns hold them', by='data')
    h.void('001-0007', 'duplicate', duplicate_of='001-0008', note='kept from here on', by='data')
    h.reinstate('001-0002', note='removed under the policy of then', by='data')
    h.enrol('nurse', *ids(18, 20))
    # Three names within one amendment; the level is closed, and stays so.
    h.amend(renamed(site, 'f', 'g'), renamed(site, 'g', 'h', alias=True), renamed(site, 'h', 'm'),
            renamed('sex', 'male', 'm'), renamed(site, '11 – Cook County', 'Cook'), reopened(site, 'm'))
    h.enrol('nurse', *ids(21, 24))
    h.correct('001-0021', {'sex': 'm' if h.levels_of('001-0021')['sex'] != 'm' else 'f'}, by='data')
    h.rename('001-0021', '001-0210', by='data')
    h.enrol('nurse', *ids(25, 28))
    return h


def limits_come_and_go():
    h = History('limits that begin to stop, are raised, removed and set again, across a renaming', {
        'name': 'LIMITS COME AND GO', 'D': 'range', 'alpha': 1, 'beta': 3, 'treatments': ['A', 'B'],
        'limits': {'total': 6, 'levels': [{'factor': 'site', 'level': '1', 'max': 2},
                                          {'factor': 'site', 'level': '3', 'max': 1}]},
        'factors': factors(sex=['m', 'f'], site=['1', '2', '3'])})
    h.key('nurse', 'randomize', 'read')
    h.key('data', 'correct', 'read')
    h.key('manager', 'manage')
    h.register()
    for n, levels in enumerate([['m', '1'], ['f', '1'], ['f', '1'], ['m', '2']], 1):
        h.enrol('nurse', f'001-{n:04}', levels=levels)
    h.amend(policy('stopAtLimit', True), by='manager')
    h.instead('beyond a limit that stops from now on',
              lambda it: it.enrol('nurse', '001-0005', levels=['m', '1']))
    h.enrol('nurse', '001-0005', levels=['m', '3'])
    h.correct('001-0001', {'site': '3'}, note='2 of 1 at the one, 2 of 2 at the other', by='data')
    h.amend(renamed('site', '1', 'one'))
    h.instead('beyond the limit of a renamed level', lambda it: it.enrol('nurse', '001-0006', levels=['m', 'one']))
    h.correct('001-0002', {'site': '2'}, by='data')
    h.enrol('nurse', '001-0006', levels=['f', 'one'])
    raised = {'total': 7, 'levels': [{'factor': 'sex', 'level': 'f', 'max': 4},
                                     {'factor': 'site', 'level': 'one', 'max': 3}]}
    h.instead('beyond a limit that the next amendment raises',
              lambda it: it.enrol('nurse', '001-0007', levels=['m', '2']))
    h.instead('a limit of a level by its old name', lambda it: it.amend(setting('limits', raised)),
              lambda data: data['changes'][0]['value']['levels'][1].update(level='1'))
    h.instead('limits that are not in the order of the design', lambda it: it.amend(setting('limits', raised)),
              lambda data: data['changes'][0]['value']['levels'].reverse())
    h.instead('a limit twice', lambda it: it.amend(setting('limits', raised)),
              lambda data: data['changes'][0]['value']['levels'].insert(1, raised['levels'][0]))
    h.instead('limits without a limit', lambda it: it.amend(setting('limits', raised)),
              lambda data: data['changes'][0].update(value={}))
    h.instead('it says what the urns count, though nothing touches them',
              lambda it: it.amend(setting('limits', raised)), lambda data: data.update(history='keep'))
    h.amend(setting('limits', raised), by='manager', request='raised')
    h.enrol('nurse', '001-0007', levels=['m', 'one'])
    h.void('001-0003', 'duplicate', duplicate_of='001-0004', by='data')
    h.enrol('nurse', '001-0008', levels=['f', 'one'])
    h.instead('beyond the limit in all', lambda it: it.enrol('nurse', '001-0009', levels=['m', '2']))
    # Added and limited in one amendment; no limit in all from here on.
    h.amend(added('site', '4'), closed('site', '2'), setting('limits', {'levels': [
        {'factor': 'site', 'level': 'one', 'max': 3}, {'factor': 'site', 'level': '2', 'max': 9},
        {'factor': 'site', 'level': '4', 'max': 1}]}))
    h.enrol('nurse', '001-0009', levels=['f', '4'])
    h.amend(renamed('site', '4', 'four'), renamed('site', 'one', '1', alias=True), renamed('site', '2', 'two'),
            renamed('site', 'two', '2 b'))
    h.instead('beyond the limit of a level that was added and renamed',
              lambda it: it.enrol('nurse', '001-0010', levels=['m', 'four']))
    h.reinstate('001-0003', '4 of 3', by='data')
    h.correct('001-0009', {'site': '3'}, 'transfer', by='data')
    h.enrol('nurse', '001-0010', levels=['m', 'four'])
    h.enrol('nurse', '001-0011')
    h.amend(setting('limits'), by='manager')
    h.enrol('nurse', '001-0012', levels=['f', '1'])
    h.amend(setting('limits', {'total': 12}), added('site', '5'))
    h.instead('beyond a limit that was reached when it was set',
              lambda it: it.enrol('nurse', '001-0013', levels=['m', '1']))
    h.void('001-0005', 'never-enrolled', by='data')
    h.enrol('nurse', '001-0013', levels=['m', '5'])
    h.amend(policy('stopAtLimit', False))
    h.enrol('nurse', *ids(14, 16))
    h.amend(policy('stopAtLimit', True), setting('limits', {'total': 17}))
    h.enrol('nurse', '001-0017')
    h.enrol('nurse', '001-0018')
    h.close('target', '18, of whom one was never there', by='manager')
    h.amend(setting('limits', {'total': 18, 'levels': [{'factor': 'site', 'level': '2 b', 'max': 7}]}),
            setting('target', 18), reopened('site', '2 b'))
    h.reopen('one more', [RUIZ], by='manager')
    h.enrol('nurse', '001-0019')
    return h


def rules_of_the_study():
    h = History('policies, blinding, ids, target and protocol amended while open, paused and closed', {
        'name': 'RULES OF THE STUDY', 'treatments': ['A', 'B', 'C'], 'targetEnrollment': 10, 'idPattern': 'S[0-9]{2}',
        'factors': factors(sex=['m', 'f'], site=['1', '2'], age=['y', 'o'])})
    h.key('nurse', 'randomize', 'blinded')
    h.key('data', 'correct', 'blinded')
    h.key('manager', 'manage', 'blinded')
    h.register()
    h.enrol('nurse', *ids(1, 6, 'S{:02}'))
    h.amend(setting('blinding', 'blinded'), by='manager', reason='the label changed')
    h.instead('counted as if the blinding decided the policy once more', lambda it: it.correct(
        'S01', it.next_levels('S01', 'sex'), by='data'), lambda data: data.update(counts='as-corrected'))
    h.correct('S01', h.next_levels('S01', 'sex'), note='the urns do not move', by='data')
    h.enrol('nurse', 'S07')
    h.pause('to amend', by='manager')
    h.instead('an allocation while it is paused', lambda it: it.enrol('nurse', 'S08'))
    h.instead('removed, by a policy of the next amendment', lambda it: it.void(
        'S02', 'duplicate', duplicate_of='S03', by='data'), lambda data: data.update(counts='removed'))
    h.amend(policy('levelCounts', 'as-corrected'), policy('voidCounts', 'removed'),
            policy('forcedCounts', 'not-counted'), by='manager')
    h.correct('S01', h.next_levels('S01', 'sex', 'site'), note='the urns move from where they held them', by='data')
    h.void('S02', 'duplicate', duplicate_of='S03', by='data')
    h.amend(setting('id-pattern', '[0-9]{3}'), setting('target', 30), protocol={'version': '2'})
    h.instead('an id is corrected to one that the new pattern does not allow',
              lambda it: it.rename('S04', 'S44', by='data'), pattern=True)
    h.rename('S04', '004', 'pattern', by='data')
    h.resume('amended', by='manager')
    h.instead('an id of the pattern from before', lambda it: it.enrol('nurse', 'S08'), pattern=True)
    h.enrol('nurse', '008', '009')
    h.instead('there is nothing to change', lambda it: it.amend(protocol={'version': '3', 'date': '2026-05-01'}),
              lambda data: data.pop('protocol'))
    h.instead('a target that is in force already', lambda it: it.amend(setting('target', 31)),
              lambda data: data['changes'][0].update(value=30))
    h.instead('a policy that is in force already', lambda it: it.amend(policy('stopAtLimit', True)),
              lambda data: data['changes'][0].update(value=False))
    h.instead('a protocol of a day that there is not',
              lambda it: it.amend(protocol={'version': '3', 'date': '2026-04-31'}))
    h.amend(protocol={'version': '3', 'date': '2026-05-01'}, approvals=[BOARD], by='manager', request='protocol 3')
    h.enrol('nurse', '010')
    h.close('safety', 'a signal', by='manager')
    h.amend(setting('id-pattern'), setting('target'), setting('blinding', 'open'),
            policy('levelCounts', 'as-randomized'), added('age', '?'), closed('age', 'o'), by='manager')
    h.instead('an allocation while it is closed, behind amendments', lambda it: it.enrol('nurse', '011'))
    h.correct('S03', {'age': '?'}, 'definition', by='data')
    h.amend(policy('levelCounts', 'as-corrected'), reason='a second one while it is closed')
    h.correct('S05', {'age': '?'}, 'definition', by='data')
    h.reopen('refuted', [RUIZ], by='manager', protocol={'version': '4'})
    h.enrol('nurse', 'any id', '011', 'S08')
    h.reinstate('S02', by='data')
    h.amend(policy('voidCounts', 'kept'), policy('forcedCounts', 'counted'), setting('target', 0),
            setting('id-pattern', '[A-Z]?[0-9]{2,3}'), setting('blinding', 'blinded'))
    h.void('S06', 'never-enrolled', by='data')
    h.enrol('nurse', 'T12', '013')
    h.begin_anew(h.declare_loss(1, 'restored behind an amendment', signed=(30, 0)))
    h.enrol('nurse', *ids(14, 18, '{:03}'))
    h.amend(renamed('sex', 'm', 'male'), renamed('site', '1', 'Nord'))
    h.move('sqlite:/new', arrived_from='sqlite:/old')
    h.enrol('nurse', *ids(19, 22, '{:03}'))
    return h


def imported_and_amended():
    h = History('a test that is amended before an import, between two, and after it', {
        'name': 'IMPORTED, AMENDED', 'mode': 'test', 'D': 'variance', 'w': 2, 'alpha': 0, 'beta': 1,
        'policies': {'levelCounts': 'as-corrected', 'voidCounts': 'removed'},
        'treatments': ['A', 'B'], 'factors': factors(sex=['m', 'f'], site=['1', '2'])}, seed=3**83)
    h.key('tester', 'randomize', 'read', 'manage', 'correct')
    h.register()
    h.amend(added('site', '3'), closed('site', '1'), renamed('sex', 'm', 'male'), approvals=[], by='tester')
    there = OtherSystem(h, h.seed)
    there.draw(*ids(1, 6))
    h.begin_import(there.file(), seed_known=True, approvals=[])
    h.import_rows(3)
    h.instead('amended while it is imported', lambda it: it.amend(added('site', '4'), approvals=[]))
    h.instead('a row with a level by its old name', lambda it: it.import_rows(1),
              lambda data: data['levels'][0].update(level='m'))
    h.abort_import('the sites were wrong')
    h.amend(renamed('site', '2', 'Süd'), renamed('site', '3', 'Nord'), added('site', '4'), approvals=[],
            reason='as they are called there')
    there = OtherSystem(h, h.seed)
    there.draw(*ids(1, 5))
    there.draw('001-0006', back=2, missed=1)
    there.draw('001-0007', levels=['male', '1'])
    there.enter('001-0008', 1, ['f', 'Nord'])
    there.draw(*ids(9, 14))
    h.import_history(there.file(is_shuffled=True), generator='continued', seed_known=True, approvals=[])
    h.enrol('tester', *ids(15, 16))
    h.amend(reopened('site', '1'), renamed('site', 'Nord', 'Nord (alt)', alias=True), closed('site', 'Nord (alt)'),
            approvals=[], by='tester', protocol={'version': '1.1'})
    h.instead('an allocation at a closed level that only imported participants have', lambda it: it.enrol(
        'tester', '001-0017', levels=['f', 'Nord (alt)']))
    h.instead('drawn as if the urn of those who were imported began anew', lambda it: it.enrol(
        'tester', '001-0017', levels=['f', '1'], counts=it.counts_anew()), found=['full'])
    h.enrol('tester', *ids(17, 19))
    h.correct('001-0008', {'site': '4', 'sex': 'male'}, by='tester')
    h.void('001-0003', 'duplicate', duplicate_of='001-0004', by='tester')
    h.amend(renamed('site', 'Nord (alt)', 'Nord'), renamed('site', '4', 'West'), reopened('site', 'Nord'),
            renamed('sex', 'male', 'm'), approvals=[BOARD])
    h.correct('001-0008', {'site': 'Nord'}, by='tester')
    h.enrol('tester', *ids(20, 23))
    h.reinstate('001-0003', by='tester')
    h.amend(closed('site', 'West'), closed('site', 'Süd'), approvals=[])
    h.enrol('tester', *ids(24, 26))
    return h


def entered_by_hand():
    h = History('allocations from outside that count: in an open, a paused and a closed study, and beyond limits', {
        'name': 'ENTERED BY HAND', 'treatments': ['A', 'B', 'C'], 'policies': {'stopAtLimit': True},
        'limits': {'total': 23, 'levels': [{'factor': 'site', 'level': '2', 'max': 5}]},
        'factors': factors(sex=['m', 'f'], site=['1', '2', '3'])})
    h.key('nurse', 'randomize', 'blinded')
    h.key('monitor', 'force', 'read')
    h.key('site-2', 'force', 'correct', where=[{'factor': 'site', 'levels': ['2']}])
    h.key('both', 'randomize', 'force')
    h.key('chief', 'force', 'audit')
    h.key('manager', 'manage')
    h.key('data', 'correct', 'blinded')
    h.register()
    h.instead('it was made before the registration', lambda it: it.force(
        '001-0001', 'A', ['m', '1'], occurred_at=it.registered_at - 1))
    h.force('001-0001', 'A', ['m', '1'], 'elsewhere', occurred_at=h.registered_at, note='the first one of all')
    h.instead('drawn as if the urns did not count who was entered', lambda it: it.enrol(
        'nurse', '001-0002', levels=['m', '1'], counts=it.counts_forced_otherwise()), found=['full'])
    h.enrol('nurse', *ids(2, 4))
    h.force('001-0005', 'B', ['f', '2'], ago=0, by='site-2', request='1', behalf='Dr. Ōta')
    h.instead('by a key that is for another level', lambda it: it.force(
        '001-0006', 'A', ['m', '3'], by='site-2'))
    h.instead('by a key that may not', lambda it: it.force('001-0006', 'A', ['m', '3'], by='nurse'))
    h.instead('an idempotency key that was used before', lambda it: it.force(
        '001-0006', 'A', ['m', '2'], by='site-2', request='1'), found=['full'])
    h.instead('the id of somebody who was drawn', lambda it: it.force('001-0006', 'A', ['m', '3']),
              lambda data: data.update(participantId='001-0002'))
    h.instead('the id of somebody who was entered', lambda it: it.force('001-0006', 'A', ['m', '3']),
              lambda data: data.update(participantId='001-0005'))
    h.instead('drawn for the id of somebody who was entered', lambda it: it.enrol('nurse', '001-0006'),
              lambda data: data.update(participantId='001-0005'))
    h.instead('said not to be counted, though the policy counts', lambda it: it.force('001-0006', 'A', ['m', '3']),
              lambda data: data.update(counted=False))
    h.instead('an arm that the study does not have', lambda it: it.force('001-0006', 'A', ['m', '3']),
              arm='D', found=['full', 'open'])
    h.instead('drawn as if somebody had been entered on another arm', lambda it: (
        it.enrolled['001-0005'].update(slot=2), it.enrol('nurse', '001-0006', levels=['f', '1'])), found=['full'])
    h.instead('a level that there is not', lambda it: it.force('001-0006', 'A', ['m', '3']),
              lambda data: data['levels'][1].update(level='4'))
    h.instead('a factor is left out', lambda it: it.force('001-0006', 'A', ['m', '3']),
              lambda data: data['levels'].pop())
    h.instead('factors in another order', lambda it: it.force('001-0006', 'A', ['m', '3']),
              lambda data: data['levels'].reverse())
    h.instead('it says what it replaces, though nobody has the id', lambda it: it.force('001-0006', 'A', ['m', '3']),
              lambda data: data.update(replaces=1))
    h.instead('made long after it was entered', lambda it: it.force('001-0006', 'A', ['m', '3'], ago=-60_000))
    # The clock of who made it may be ahead.
    h.force('001-0006', 'A', ['f', '1'], 'other', ago=-1000, by='both')
    h.enrol('both', '001-0007')
    h.instead('the generator moved on by an allocation that was not drawn', lambda it: (
        setattr(it, 'bg_state', it.drawn([0, 0], it.counts())[1]['bgStateAfter']),
        it.enrol('nurse', '001-0008')), found=['full'])
    h.enrol('nurse', '001-0008')
    h.wait(days=14)
    h.pause('an outage', by='manager')
    h.instead('an allocation while it is paused', lambda it: it.enrol('nurse', '001-0009'))
    h.force('001-0009', 'C', ['m', '2'], ago=LATE, by='monitor', note='seven days before')
    h.force('001-0010', 'A', ['f', '2'], 'protocol', ago=LATE + 1, by='chief', note='𝔸' * 2000)
    h.force('001-0011', 'A', ['f', '2'], ago=4 * 3_600_000, by='site-2', note='6 of 5')
    h.resume('it runs again', by='manager')
    h.instead('beyond a limit that those entered have filled', lambda it: it.enrol(
        'nurse', '001-0012', levels=['m', '2']))
    h.enrol('nurse', *ids(12, 13))
    h.correct('001-0009', {'site': '3'}, note='the urns do not move', by='data')
    h.correct('001-0010', {'sex': 'm', 'site': '3'}, 'transfer', by='data')
    h.enrol('nurse', '001-0014', levels=['m', '2'])
    h.amend(closed('site', '1'), renamed('site', '3', 'Nord', alias=True), policy('levelCounts', 'as-corrected'),
            policy('voidCounts', 'removed'), by='manager')
    h.instead('entered at a closed level', lambda it: it.force('001-0015', 'A', ['m', '1'], ago=5 * 86_400_000))
    h.instead('entered at a level by an alias', lambda it: it.force('001-0015', 'A', ['m', 'Nord']),
              lambda data: data['levels'][1].update(level='3'))
    h.force('001-0015', 'C', ['m', 'Nord'], ago=10 * 86_400_000, note='when the level was called otherwise')
    h.correct('001-0009', {'sex': 'f'}, note='and now they move', by='data')
    h.instead('drawn by the counts from before a correction of somebody who was entered', lambda it: it.enrol(
        'nurse', '001-0016', levels=['f', 'Nord'], counts=it.counts_otherwise()), found=['full'])
    h.instead('a code-break that was shown before, and is no emergency', lambda it: it.reveal(
        'planned', '001-0011', 'as planned', shown_ago=60_000), field='data.shownAt')
    h.reveal('emergency', '001-0011', 'anaphylaxis, ICU', shown_ago=60_000)
    h.rename('001-0011', '001-0110', by='site-2', request='2')
    h.void('001-0011', 'duplicate', duplicate_of='001-0012', by='data')
    h.enrol('nurse', '001-0016')
    h.void('001-0002', 'duplicate', duplicate_of='001-0001', note='of somebody who was entered', by='data')
    h.void('001-0006', 'ineligible', 'keep', by='data')
    h.amend(reopened('site', '1'), setting('id-pattern', '[0-9]{3}-[0-9]{4}'))
    h.instead('an id that the pattern does not allow', lambda it: it.force('1-0017', 'A', ['m', '1']), pattern=True)
    h.enrol('nurse', *ids(17, 20))
    h.reinstate('001-0011', by='data')
    h.force('001-0021', 'B', ['m', '1'])
    h.begin_anew(h.declare_loss(1, 'restored behind an entry', signed=(60, 0)))
    h.enrol('nurse', *ids(22, 23))
    h.close('target', 'full but for some', by='manager')
    h.instead('made when it was closed', lambda it: it.force('001-0024', 'A', ['m', '1'], occurred_at=it.closed_at))
    h.instead('made after it was closed', lambda it: it.force('001-0024', 'A', ['m', '1'], ago=0))
    h.force('001-0024', 'A', ['m', '1'], occurred_at=h.closed_at - 1, by='monitor', note='23 of 23')
    h.force('001-0025', 'B', ['f', 'Nord'], ago=12 * 86_400_000, note='24 of 23')
    first = h.closed_at
    h.reopen('one is a duplicate', [RUIZ], by='manager')
    h.instead('beyond the limit in all', lambda it: it.enrol('nurse', '001-0026', levels=['m', '1']))
    h.void('001-0024', 'duplicate', duplicate_of='001-0023', by='data')
    h.force('001-0026', 'B', ['f', '2'], occurred_at=first + 1, note='made while it was closed, entered behind that')
    h.void('001-0008', 'never-enrolled', by='data')
    h.void('001-0009', 'never-enrolled', by='data')
    h.enrol('nurse', '001-0027')
    h.amend(setting('limits', {'total': 40}), by='manager')
    h.enrol('nurse', *ids(28, 31))
    h.close('end', 'it is over', by='manager')
    h.force('001-0032', 'A', ['m', '2'], occurred_at=first + 2, note='before the last closing, behind the first one')
    return h


def entered_and_not_counted():
    h = History('allocations from outside that do not count, do from an amendment on, and then do not', {
        'name': 'NOT COUNTED', 'blinding': 'blinded', 'D': 'variance', 'alpha': 0, 'beta': 2,
        'policies': {'voidCounts': 'removed', 'forcedCounts': 'not-counted'}, 'treatments': ['Verum', 'Placebo'],
        'factors': factors(sex=['m', 'f'], site=['Nord', 'Süd'])})
    h.key('nurse', 'randomize', 'blinded')
    h.key('monitor', 'force')
    h.key('data', 'correct', 'blinded')
    h.register()
    h.enrol('nurse', *ids(1, 3))
    h.force('F1', 'Verum', ['m', 'Nord'], by='monitor')
    h.force('F2', 'Verum', ['m', 'Nord'], 'elsewhere', by='monitor')
    h.force('F3', 'Placebo', ['f', 'Süd'], 'protocol')
    h.instead('said to be counted, though the policy does not count', lambda it: it.force(
        'F4', 'Verum', ['m', 'Nord']), lambda data: data.update(counted=True))
    h.instead('drawn as if the urns counted who was entered', lambda it: it.enrol(
        'nurse', '001-0004', levels=['m', 'Nord'], counts=it.counts_forced_otherwise()), found=['full'])
    h.enrol('nurse', *ids(4, 6))
    h.correct('F1', {'site': 'Süd'}, note='by the policy the urns would move; they do not hold them', by='data')
    h.enrol('nurse', '001-0007')
    h.void('F2', 'duplicate', duplicate_of='001-0001', note='of whom the urns do not count', by='data')
    h.enrol('nurse', '001-0008')
    h.reinstate('F2', by='data')
    h.instead('drawn as if a reinstatement brought somebody in', lambda it: it.enrol(
        'nurse', '001-0009', levels=['m', 'Nord'],
        counts=it.counts_if(lambda person: is_counted(person) or person['id'] == 'F2')), found=['full'])
    h.enrol('nurse', '001-0009')
    h.void('F3', 'entry', by='data')
    h.enrol('nurse', '001-0010')
    h.instead('a wrong entry that the urns are said to keep', lambda it: it.void('F1', 'entry', by='data'),
              lambda data: data.update(counts='kept'))
    h.reinstate('F3', note='it was right', by='data')
    h.void('001-0003', 'never-enrolled', by='data')
    h.void('F1', 'never-enrolled', by='data')
    h.enrol('nurse', '001-0011')
    h.amend(policy('forcedCounts', 'counted'), reason='from here on')
    h.instead('counted by the policy from before the amendment', lambda it: it.force(
        'F4', 'Placebo', ['m', 'Süd']), lambda data: data.update(counted=False))
    h.instead('drawn as if the amendment brought in who was entered before it', lambda it: it.enrol(
        'nurse', '001-0012', levels=['m', 'Nord'], counts=it.counts_forced_otherwise()), found=['full'])
    h.enrol('nurse', '001-0012')
    h.force('F4', 'Placebo', ['m', 'Süd'], by='monitor', request='4')
    h.force('F5', 'Placebo', ['m', 'Süd'], by='monitor', request='5')
    h.enrol('nurse', *ids(13, 14))
    h.reinstate('F1', note='recorded before the amendment: never in the urns', by='data')
    h.correct('F1', {'sex': 'f'}, 'source', by='data')
    h.correct('F4', {'sex': 'f', 'site': 'Nord'}, note='the urns move', by='data')
    h.enrol('nurse', *ids(15, 16))
    h.void('F4', 'duplicate', duplicate_of='F1', by='data')
    h.void('F5', 'entry', by='data')
    h.enrol('nurse', *ids(17, 18))
    h.amend(renamed('site', 'Süd', 'Sued'), policy('forcedCounts', 'not-counted'), policy('voidCounts', 'kept'))
    h.instead('counted by the policy of the amendment before the last one', lambda it: it.force(
        'F6', 'Verum', ['f', 'Sued']), lambda data: data.update(counted=True))
    h.force('F6', 'Verum', ['f', 'Sued'], 'other')
    h.reinstate('F4', note='the urns take them back, at the corrected levels', by='data')
    h.reinstate('F5', note='them, too', by='data')
    h.instead('drawn as if the last policy were that of all who were entered', lambda it: it.enrol(
        'nurse', '001-0019', levels=['m', 'Sued'],
        counts=it.counts_if(lambda person: is_counted(person) and not person['forced'])), found=['full'])
    h.enrol('nurse', *ids(19, 20))
    h.void('F6', 'entry', by='data')
    h.void('F5', 'duplicate', duplicate_of='F4', note='kept by the policy of now', by='data')
    h.enrol('nurse', *ids(21, 22))
    h.close('end', 'it is over')
    h.force('F7', 'Placebo', ['f', 'Nord'], ago=3 * 3_600_000, by='monitor')
    h.void('F7', 'other', by='data')
    h.reopen('it is not', [BOARD])
    h.enrol('nurse', *ids(23, 26))
    return h


def wrong_entries():
    site = 'site'
    h = History('wrong entries, voided and entered anew, behind new names of levels and new ids', {
        'name': 'WRONG ENTRIES', 'D': 'range', 'treatments': ['A', 'B', 'C'],
        'policies': {'levelCounts': 'as-corrected', 'stopAtLimit': True}, 'limits': {'total': 30},
        'factors': factors(sex=['m', 'f'], site=['1', '2'])})
    h.key('nurse', 'randomize', 'blinded')
    h.key('monitor', 'force', 'read')
    h.key('data', 'correct', 'blinded')
    h.key('site-2', 'force', where=[{'factor': site, 'levels': ['2']}])
    h.key('desk', 'unblind', 'blinded')
    h.register()
    h.enrol('nurse', *ids(1, 4))
    wrong = h.revision()
    h.force('F1', 'A', ['m', '1'], by='monitor')
    other = h.revision()
    h.force('F2', 'B', ['f', '2'], 'elsewhere', by='monitor')
    h.enrol('nurse', '001-0005')

    def anew(it, participant='F1', replaces=wrong):
        it.force(participant, 'B', ['f', it.design.levels[1][0].name], replaces=replaces, note='the right envelope')

    h.instead('it replaces one that is not voided', anew)
    h.instead('somebody who was drawn is voided as a wrong entry', lambda it: it.void('001-0001', 'entry'))
    h.instead('a wrong entry that the urns are said to keep', lambda it: it.void('F1', 'entry'),
              lambda data: data.update(counts='kept'))
    h.void('F1', 'ineligible', by='data')
    h.instead('it replaces one that is voided for another cause', anew)
    h.reinstate('F1', by='data')
    h.correct('F1', {'sex': 'f'}, by='data')
    h.void('F1', 'entry', note='the wrong envelope', by='data', request='1')
    h.enrol('nurse', '001-0006')
    h.instead('drawn as if the urns still held a wrong entry', lambda it: it.enrol(
        'nurse', '001-0007', levels=['f', '1'], counts=it.counts_if(lambda person: True)), found=['full'])
    h.instead('voided a second time', lambda it: it.void('F2', 'entry'),
              lambda data: data.update(participantId='F1', randomizedAt=wrong))
    h.reinstate('F1', 'it was right', by='data')
    h.instead('it replaces one that was voided and is reinstated', anew)
    h.enrol('nurse', '001-0007')
    h.void('F1', 'entry', note='it was wrong', by='data')
    void = h.revision() - 1
    h.amend(renamed(site, '1', 'one'), renamed('sex', 'm', 'male', alias=True))
    h.rename('F1', 'Z1', by='data')
    h.instead('its id is used, and nothing is replaced', lambda it: anew(it, 'F9', None),
              lambda data: data.update(participantId='F1'))
    h.instead('an id that it was given, and nothing is replaced', lambda it: anew(it, 'F9', None),
              lambda data: data.update(participantId='Z1'))
    h.instead('it is entered by an id that it was given', anew, lambda data: data.update(participantId='Z1'))
    h.instead('drawn for the id of a wrong entry', lambda it: it.enrol('nurse', '001-0008'),
              lambda data: data.update(participantId='F1'))
    for what, revision in [('its void', void), ('another entry', other), ('somebody who was drawn', other - 2),
                           ('itself', h.revision()), ('the registration', 0)]:
        h.instead(f'it is to replace {what}', anew, lambda data, revision=revision: data.update(replaces=revision))
    h.instead('its levels have old names', anew, lambda data: data['levels'][1].update(level='1'))
    h.instead('entered anew by a key that is for another level', lambda it: it.force(
        'F1', 'B', ['f', 'one'], replaces=wrong, by='site-2'))
    h.enrol('nurse', '001-0008')
    anew(h)
    second = h.revision() - 1
    h.instead('drawn by the counts from before it was entered anew', lambda it: it.enrol(
        'nurse', '001-0009', levels=['f', 'one'],
        counts=it.counts_if(lambda person: is_counted(person) and person['id'] != 'F1')), found=['full'])
    h.enrol('nurse', *ids(9, 11))
    h.instead('replaced once more', lambda it: it.force('F9', 'B', ['f', 'one']),
              lambda data: data.update(participantId='F1', replaces=wrong))
    h.instead('reinstated after it was replaced', lambda it: (it.enrolled.update(
        F1={**it.enrolled['F1'], 'voided': {'voidedAt': void}}), it.reinstate('F1')))
    h.instead('a correction names the wrong entry', lambda it: it.correct('F1', {'sex': 'male'}),
              lambda data: data.update(randomizedAt=wrong))
    h.instead('somebody gets an id that the wrong entry had', lambda it: it.rename('F2', 'Z2'),
              lambda data: data.update(to='Z1'))
    h.instead('a code-break names the wrong entry', lambda it: it.reveal('planned', 'F1', 'as planned'),
              lambda data: data.update(randomizedAt=wrong))
    # An id that it had before it was replaced.
    h.rename('F1', 'Z1', 'other', by='data')
    h.correct('F1', {'sex': 'male'}, by='data')
    h.enrol('nurse', '001-0012')
    h.reveal('emergency', 'F1', 'anaphylaxis, ICU', by='desk')
    # The second entry was counted, the third is not.
    h.void('F1', 'entry', 'keep', by='data')
    h.amend(policy('forcedCounts', 'not-counted'), policy('levelCounts', 'as-randomized'))
    h.instead('it is to replace what was replaced', lambda it: anew(it, replaces=second),
              lambda data: data.update(replaces=wrong))
    h.instead('counted as what it replaces', lambda it: anew(it, replaces=second),
              lambda data: data.update(counted=True))
    h.enrol('nurse', '001-0013')
    h.force('F1', 'C', ['male', 'one'], replaces=second, by='monitor', request='F1')
    h.instead('drawn as if it were counted like what it replaces', lambda it: it.enrol(
        'nurse', '001-0014', levels=['male', 'one'],
        counts=it.counts_if(lambda person: is_counted(person) or person['id'] == 'F1')), found=['full'])
    h.enrol('nurse', *ids(14, 15))
    h.correct('F1', {'sex': 'f'}, 'source', note='the code of an earlier entry of theirs was broken', by='data')
    h.void('001-0015', 'duplicate', duplicate_of='F2', by='data')
    h.void('F2', 'entry', note='not counted otherwise than it was: removed', by='data')
    h.amend(renamed(site, '2', 'two'), renamed(site, 'one', '1'), policy('forcedCounts', 'counted'))
    h.force('F2', 'A', ['f', 'two'], 'elsewhere', replaces=other, by='site-2')
    h.instead('two are duplicates of each other, one of them entered anew', lambda it: it.void(
        'F2', 'duplicate', duplicate_of='001-0015'))
    h.enrol('nurse', *ids(16, 17))
    third = h.enrolled['F1']['revision']
    h.void('F1', 'entry', by='data')
    h.close('end', 'it is over')
    h.instead('entered anew in a closed study, and made after the closing', lambda it: it.force(
        'F1', 'C', ['male', '1'], replaces=third, ago=0))
    h.force('F1', 'A', ['f', '1'], replaces=third, ago=3 * 3_600_000, note='the fourth one counts')
    h.reopen('it is not', [RUIZ])
    h.amend(setting('limits', {'total': 20}))
    # Full, if nobody who was replaced fills a place.
    h.enrol('nurse', *ids(18, 19))
    h.instead('beyond the limit', lambda it: it.enrol('nurse', '001-0020', levels=['male', '1']))
    return h


def put(section, **members):
    """Alters a sealed section; a member that is to be None is left out."""
    def alter(sections):
        sections[section] = present(**{**sections[section], **members})
    return alter


def arms_close_and_reopen():
    h = History('arms closed and reopened, two closed and one added at once, and entries by hand of all these times', {
        'name': 'ARMS CLOSE', 'treatments': ['A', 'B', 'C', 'D'], 'factors': factors(sex=['m', 'f'], site=['1', '2'])})
    h.key('nurse', 'randomize', 'blinded')
    h.key('data', 'correct', 'blinded')
    h.key('monitor', 'force', 'read')
    h.key('manager', 'manage')
    h.register()
    h.enrol('nurse', *ids(1, 8))
    for about, wrong in [('an arm that there is not', arm_closed('E')), ('an arm that is open', arm_reopened('B')),
                         ('an arm that there is', arm_added('B'))]:
        kind = wrong['kind'].removeprefix('arm-')
        h.instead(f'{about} is {kind}', lambda it: it.amend(arm_closed('C')),
                  lambda data, wrong=wrong: data.update(changes=[wrong]), field='data.changes[0].treatment')
    h.instead('three of four arms are closed', lambda it: it.amend(arm_closed('C')),
              lambda data: data['changes'].extend([arm_closed('A'), arm_closed('D')]),
              field='data.changes[2].treatment')
    h.instead('an arm is closed twice', lambda it: it.amend(arm_closed('C')), lambda data: data['changes'].append(
        arm_closed('C')), field='data.changes[1].treatment')
    h.instead('an arm is closed, and it is not said what the urns count', lambda it: it.amend(arm_closed('C')),
              lambda data: data.pop('history'), field='data.history')
    h.amend(arm_closed('C'), by='manager', request='close C')
    closing = h.last_at()
    h.instead('an allocation to a closed arm', lambda it: it.enrol('nurse', '001-0009'), arm='C',
              found=['full', 'open'], field='allocation.treatment')
    h.instead_drawn('drawn as if the urns had those of a closed arm', 'nurse', '001-0009', 'closed arms')
    h.enrol('nurse', *ids(9, 12))
    h.instead('entered on a closed arm', lambda it: it.force('F1', 'A', ['m', '1'], ago=0), arm='C',
              found=['full', 'open'], field='allocation.treatment')
    h.instead('entered on an arm that was closed in that millisecond', lambda it: it.force(
        'F1', 'A', ['m', '1'], occurred_at=closing), arm='C', found=['full', 'open'], field='allocation.treatment')
    h.force('F1', 'C', ['m', '1'], occurred_at=closing - 1, by='monitor')
    h.correct('F1', {'site': '2'}, by='data', note='of an arm that is closed')
    on_c = next(i for i, person in h.enrolled.items() if person['arm'] == 2 and person['id'] != 'F1')
    h.void(on_c, 'duplicate', duplicate_of='F1', by='data')
    h.enrol('nurse', *ids(13, 14))
    h.amend(arm_reopened('C'), arm_closed('A'), renamed('site', '1', 'one'), by='manager')
    second = h.last_at()
    h.instead('entered for a time at which the arm was closed', lambda it: it.force(
        'F2', 'B', ['f', 'one'], occurred_at=second - 1), arm='C', found=['full', 'open'],
        field='allocation.treatment')
    h.enrol('nurse', '001-0015')
    h.force('F2', 'A', ['f', 'one'], occurred_at=second - 1, by='monitor', note='A was open then')
    h.force('F3', 'C', ['f', 'one'], occurred_at=second, by='monitor', note='C is open from then on')
    h.enrol('nurse', *ids(16, 20))
    # The clock steps back. A change counts only from the youngest record before it on.
    youngest = h.last_at()
    h.step_back(10_800_000)
    h.amend(arm_closed('B'), arm_reopened('A'))
    h.wait(h=5)
    h.instead('entered for the time of the youngest record before the arm was closed', lambda it: it.force(
        'F4', 'C', ['m', '2'], occurred_at=youngest), arm='B', found=['full', 'open'], field='allocation.treatment')
    h.instead('entered for a time before that, on an arm that was closed then', lambda it: it.force(
        'F4', 'B', ['m', '2'], occurred_at=youngest - 1), arm='A', found=['full', 'open'],
        field='allocation.treatment')
    h.force('F4', 'B', ['m', '2'], occurred_at=youngest - 1, by='monitor')
    h.force('F5', 'A', ['m', '2'], occurred_at=youngest, by='monitor')
    h.enrol('nurse', *ids(21, 24))
    h.instead('two arms are open, and one of them is closed', lambda it: it.amend(arm_closed('A')),
              lambda data: data['changes'].append(arm_closed('D')), field='data.changes[1].treatment')
    # One arm would be left between the changes.
    h.amend(arm_closed('A'), arm_closed('D'), arm_added('E'), history='keep', by='manager', reason='E in place of both')
    added_at = h.last_at()
    h.instead('entered on an arm that there was not yet', lambda it: it.force(
        'F6', 'C', ['m', '2'], occurred_at=added_at - 1), arm='E', found=['full', 'open'],
        field='allocation.treatment')
    h.force('F6', 'E', ['m', '2'], occurred_at=added_at, by='monitor')
    h.enrol('nurse', *ids(25, 30))
    h.instead('a new arm has the name of a closed one', lambda it: it.amend(arm_added('F')),
              lambda data: data['changes'][0].update(treatment='A'), field='data.changes[0].treatment')
    h.pause('to reopen', by='manager')
    h.force('F7', 'D', ['f', '2'], occurred_at=added_at - 1, by='monitor')
    h.amend(arm_reopened('A'), arm_reopened('B'), arm_reopened('D'))
    h.resume('reopened', by='manager')
    h.reinstate(on_c, by='data')
    h.enrol('nurse', *ids(31, 35))
    h.close('safety', 'of A and B')
    h.amend(arm_closed('A'), arm_closed('B'), added('site', '3'), history='restart')
    h.force('F8', 'A', ['f', '3'], occurred_at=h.closed_at - 1, note='made before the closing')
    h.reopen('without them', [RUIZ])
    h.instead_drawn('drawn as if the urns had not begun anew', 'nurse', '001-0036', 'earlier epochs')
    h.correct('F8', {'sex': 'm'}, by='data')
    h.enrol('nurse', *ids(36, 42))
    return h


def arms_are_added():
    h = History('arms added with and without those who were there, a ratio begun by one, and corrections of them', {
        'name': 'ARMS ADDED', 'blinding': 'blinded', 'D': 'variance', 'policies': {'voidCounts': 'removed'},
        'treatments': ['Ä', 'B'], 'factors': factors(sex=['m', 'f'], site=['1', '2', '3'])})
    h.key('nurse', 'randomize', 'blinded')
    h.key('data', 'correct', 'blinded')
    h.key('manager', 'manage')
    h.register()
    h.enrol('nurse', *ids(1, 12))
    h.void('001-0002', 'duplicate', duplicate_of='001-0001', by='data')
    h.correct('001-0003', h.next_levels('001-0003', 'sex'), by='data')
    h.instead('a slot, while there is no ratio', lambda it: it.enrol('nurse', '001-0013'), found=['full'],
              sections=put('draw', slot=0), field='draw.slot')
    h.instead('an arm with two slots and two with twenty', lambda it: it.amend(arm_added('C', 20)),
              lambda data: data['changes'].append(arm_added('D', 20)), field='data.changes[1].ratio')
    h.amend(arm_added('C'), by='manager', reason='all begin at nothing')
    h.instead_drawn('drawn as if the urns had not begun anew', 'nurse', '001-0013', 'earlier epochs')
    h.enrol('nurse', '001-0013')
    h.reinstate('001-0002', 'of somebody whom the urns hold no longer', by='data')
    h.correct('001-0004', h.next_levels('001-0004', 'sex', 'site'), by='data', note='the same')
    h.void('001-0005', 'never-enrolled', by='data', note='the same')
    h.rename('001-0006', '001-0600', by='data')
    h.instead_drawn('drawn by counts in which somebody from before was corrected', 'nurse', '001-0014',
                    'earlier epochs')
    h.enrol('nurse', *ids(14, 18))
    h.correct('001-0013', h.next_levels('001-0013', 'site'), by='data', note='this one moves')
    h.void('001-0014', 'duplicate', duplicate_of='001-0015', by='data', note='this one leaves')
    h.enrol('nurse', *ids(19, 21))
    h.instead('an arm is added and the history kept, and a ratio is set', lambda it: it.amend(
        arm_added('D', 3), history='keep'), lambda data: data['changes'].append(ratio_of(1, 1, 1, 2)),
        field='data.history')
    h.amend(arm_added('D', 3), history='keep', by='manager')
    h.instead('without the slot', lambda it: it.enrol('nurse', '001-0022'), found=['full'],
              sections=lambda sections: sections['draw'].pop('slot'), field='draw.slot')
    h.enrol_until_told('nurse', ids(22, 30), 'unsorted', 'drawn from balls that are not sorted')
    h.reinstate('001-0014', 'with the slot that they had', by='data')
    h.correct('001-0022', h.next_levels('001-0022', 'sex'), by='data', note='with their slot')
    h.enrol('nurse', *ids(31, 33))
    h.amend(arm_added('E', 2), arm_closed('C'), renamed('site', '1', 'one'), closed('site', '2'),
            arm_added('F'), by='manager', request='E')
    h.enrol_until_told('nurse', ids(34, 40), 'unsorted', 'drawn from balls that are not sorted')
    h.correct('001-0034', h.next_levels('001-0034', 'sex'), by='data')
    h.void('001-0035', 'duplicate', duplicate_of='001-0001', by='data')
    h.void('001-0036', 'never-enrolled', by='data')
    h.reinstate('001-0005', by='data')
    h.amend(arm_reopened('C'), arm_closed('D'), history='keep')
    h.enrol('nurse', *ids(41, 46))
    # It is of the third epoch, and of the same arm.
    h.reinstate('001-0036', by='data')
    h.amend(ratio_of(1, 1, 1, 1, 1, 1), reopened('site', '2'))
    h.instead('a slot, when the ratio has ended', lambda it: it.enrol('nurse', '001-0047'), found=['full'],
              sections=put('draw', slot=0), field='draw.slot')
    h.enrol('nurse', *ids(47, 50))
    h.reinstate('001-0035', by='data')
    h.amend(arm_added('G'), arm_reopened('D'), history='keep')
    h.enrol('nurse', *ids(51, 56))
    return h


def other_urns():
    h = History('other numbers of balls and other measures of imbalance, on the counts that there are', {
        'name': 'OTHER URNS', 'D': 'range', 'w': 2, 'alpha': 0, 'beta': 3, 'treatments': ['A', 'B', 'C'],
        'factors': factors(sex=['m', 'f'], site=['1', '2'], age=['<5', '5+'])})
    h.key('nurse', 'randomize', 'read')
    h.key('data', 'correct', 'read')
    h.key('manager', 'manage')
    h.register()
    h.enrol('nurse', *ids(1, 6))
    for about, wrong, member in [('w that it has', {'w': 2}, 'w'), ('no number', {}, 'kind'),
                                 ('a measure that it has', {'D': 'range', 'w': 4}, 'D')]:
        h.instead(f'urns are amended to {about}', lambda it: it.amend(urn(w=3)),
                  lambda data, wrong=wrong: data.update(changes=[urn(**wrong)]), field=f'data.changes[0].{member}')
    h.instead('other balls, and it is not said what the urns count', lambda it: it.amend(urn(w=3)),
              lambda data: data.pop('history'), field='data.history')
    h.amend(urn(w=3), by='manager')
    h.instead_drawn('drawn from the balls of before', 'nurse', '001-0007', 'numbers')
    h.enrol('nurse', *ids(7, 10))
    h.amend(urn(D='variance', beta=1), by='manager', reason='less of a push')
    h.instead_drawn('drawn by the measure and the balls of before', 'nurse', '001-0011', 'numbers')
    h.enrol('nurse', *ids(11, 15))
    h.amend(urn(alpha=1), renamed('site', '1', 'one', alias=True), policy('levelCounts', 'as-corrected'))
    h.correct('001-0001', {'site': '2' if h.levels_of('001-0001')['site'] == 'one' else 'one'}, by='data')
    h.instead_drawn('drawn without alpha', 'nurse', '001-0016', 'numbers')
    h.enrol('nurse', *ids(16, 20))
    h.amend(urn(D='chisquare', w=1, alpha=0, beta=2), history='restart')
    h.instead_drawn('drawn as if the urns had not begun anew', 'nurse', '001-0021', 'earlier epochs')
    h.correct('001-0002', h.next_levels('001-0002', 'sex'), by='data')
    h.enrol('nurse', *ids(21, 26))
    # Twice within one amendment, and back.
    h.amend(urn(beta=0), urn(beta=7, w=1_000_000), urn(w=1), by='manager')
    h.enrol('nurse', *ids(27, 32))
    h.begin_anew(h.declare_loss(1, 'restored behind an amendment of the urns'))
    h.enrol('nurse', *ids(33, 34))
    h.amend(urn(D='range', beta=0), by='manager', reason='no memory')
    h.enrol('nurse', *ids(35, 38))
    h.amend(urn(w=2, beta=3), retired('age'), arm_closed('B'))
    h.enrol('nurse', *ids(39, 44))
    h.amend(arm_reopened('B'), added('site', '3'), history='restart', reason='the same once more, from the beginning')
    h.enrol('nurse', *ids(45, 50))
    return h


def two_to_one():
    h = History('2:1 from the registration on, by variance, with entries by hand that count', {
        'name': 'TWO TO ONE', 'D': 'variance', 'ratio': [2, 1], 'treatments': ['A', 'B'],
        'policies': {'levelCounts': 'as-corrected', 'voidCounts': 'removed'},
        'factors': factors(x=['1', '2'], y=['1', '2'])})
    h.key('nurse', 'randomize', 'read')
    h.key('data', 'correct', 'read')
    h.key('monitor', 'force', 'read')
    h.register()
    h.enrol('nurse', '001-0001', levels=['1', '1'])
    h.enrol('nurse', '001-0002', levels=['2', '2'])
    h.enrol('nurse', '001-0003', levels=['1', '2'])
    other = h.drawn([0, 0], h.counts())[0]
    h.instead('another slot of the same arm', lambda it: it.enrol('nurse', '001-0004', levels=['1', '1']),
              sections=put('draw', slot={0: 1, 1: 0, 2: 1}[other]), found=['full'], field='draw.slot')
    h.instead('a slot that there is not', lambda it: it.enrol('nurse', '001-0004', levels=['1', '1']),
              sections=put('draw', slot=3), found=['full'], field='draw.slot')
    h.instead('without the slot', lambda it: it.enrol('nurse', '001-0004'), found=['full'],
              sections=lambda sections: sections['draw'].pop('slot'), field='draw.slot')
    h.instead('the other arm', lambda it: it.enrol('nurse', '001-0004', levels=['1', '1']),
              arm='B' if other < 2 else 'A', found=['full'], field='allocation.treatment')
    h.enrol_until_told('nurse', ids(4, 9), 'unsorted', 'drawn from balls that are not sorted')
    fewest = h.least_taken(0)
    h.instead('entered at a slot that has more', lambda it: it.force('F1', 'A', ['1', '2']),
              sections=put('allocation', slot=1 - fewest), found=['full'], field='allocation.slot')
    h.instead('entered at a slot of another arm', lambda it: it.force('F1', 'A', ['1', '2']),
              sections=put('allocation', slot=2), found=['full', 'open'], field='allocation.slot')
    h.instead('entered at a slot that there is not', lambda it: it.force('F1', 'A', ['1', '2']),
              sections=put('allocation', slot=3), found=['full', 'open'], field='allocation.slot')
    h.instead('entered without a slot', lambda it: it.force('F1', 'A', ['1', '2']),
              sections=put('allocation', slot=None), found=['full', 'open'], field='allocation.slot')
    for n in range(1, 6):
        h.force(f'F{n}', 'A' if n != 3 else 'B', ['1', '2'] if n % 2 else ['2', '1'], by='monitor')
    h.enrol_until_told('nurse', ids(10, 13), 'first slot',
                       'drawn as if all entries were at the first slot of their arm')
    # The slot of somebody who is void and removed is free again.
    h.void('F1', 'entry', by='data')
    h.void('F2', 'duplicate', duplicate_of='F4', by='data')
    fewest = h.least_taken(0)
    h.instead('entered anew at a slot that has more', lambda it: it.force(
        'F1', 'A', ['2', '2'], replaces=it.enrolled['F1']['revision']), sections=put('allocation', slot=1 - fewest),
        found=['full'], field='allocation.slot')
    h.force('F1', 'A', ['2', '2'], replaces=h.enrolled['F1']['revision'], by='monitor')
    h.force('F6', 'A', ['1', '1'], by='monitor')
    h.reinstate('F2', by='data')
    h.correct('F4', {'x': '1'}, by='data', note='with their slot')
    h.force('F7', 'A', ['1', '1'], by='monitor')
    h.enrol('nurse', *ids(14, 18))
    h.instead('the ratio that it has', lambda it: it.amend(ratio_of(3, 1)),
              lambda data: data['changes'][0].update(value=[2, 1]), field='data.changes[0].kind')
    h.instead('a ratio with a common divisor', lambda it: it.amend(ratio_of(3, 1)),
              lambda data: data['changes'][0].update(value=[4, 2]), field='data.changes[0].value')
    h.instead('a ratio for three arms', lambda it: it.amend(ratio_of(3, 1)),
              lambda data: data['changes'][0].update(value=[3, 1, 1]), field='data.changes[0].value')
    h.instead('a ratio for an arm that is not added yet', lambda it: it.amend(ratio_of(3, 1)),
              lambda data: data.update(changes=[ratio_of(3, 1, 1), arm_added('C')]), field='data.changes[0].value')
    h.instead('a ratio with the history kept', lambda it: it.amend(ratio_of(3, 1)),
              lambda data: data.update(history='keep'), field='data.history')
    h.instead('a ratio, and it is not said what the urns count', lambda it: it.amend(ratio_of(3, 1)),
              lambda data: data.pop('history'), field='data.history')
    h.amend(ratio_of(20, 19), reason='39 slots')
    h.instead('an arm with two slots beside 39', lambda it: it.amend(arm_added('C'), history='keep'),
              lambda data: data['changes'][0].update(ratio=2), field='data.changes[0].ratio')
    h.instead_drawn('drawn as if the urns had not begun anew', 'nurse', '001-0019', 'earlier epochs')
    h.enrol('nurse', *ids(19, 24))
    h.void('F7', 'never-enrolled', by='data', note='of the epoch before')
    h.force('F8', 'B', ['2', '1'], by='monitor')
    h.amend(arm_added('C'), history='keep', reason='40 slots')
    h.force('F9', 'C', ['2', '1'], ago=0, by='monitor')
    h.enrol('nurse', *ids(25, 30))
    return h


def three_two_one():
    h = History('3:2:1 by range, with entries by hand that do not count, then do, and limits that stop', {
        'name': 'THREE TWO ONE', 'D': 'range', 'ratio': [3, 2, 1], 'treatments': ['A', 'B', 'C'], 'w': 2, 'beta': 3,
        'policies': {'stopAtLimit': True, 'forcedCounts': 'not-counted'},
        'limits': {'total': 33, 'levels': [{'factor': 'site', 'level': '2', 'max': 9}]},
        'factors': factors(sex=['m', 'f'], site=['1', '2', '3'])})
    h.key('nurse', 'randomize', 'read')
    h.key('data', 'correct', 'read')
    h.key('monitor', 'force', 'read')
    h.register()
    h.wait(h=2)
    h.force('F1', 'A', ['m', '1'], by='monitor', note='the first slot, as nobody is counted')
    h.instead('entered at the second slot, though nobody is counted', lambda it: it.force('F2', 'A', ['m', '1']),
              sections=put('allocation', slot=1), found=['full'], field='allocation.slot')
    h.force('F2', 'A', ['m', '1'], by='monitor', note='once more the first slot')
    h.force('F3', 'B', ['f', '2'], by='monitor')
    h.enrol('nurse', *ids(1, 12))
    h.instead('entered as counted', lambda it: it.force('F4', 'C', ['m', '1']),
              lambda data: data.update(counted=True), field='data.counted')
    h.force('F4', 'C', ['m', '1'], by='monitor')
    h.force('F5', 'A', ['m', '2'], by='monitor')
    h.amend(policy('forcedCounts', 'counted'))
    h.void('F1', 'entry', by='data')
    h.force('F1', 'A', ['m', '1'], replaces=h.enrolled['F1']['revision'], by='monitor', note='counted now')
    h.force('F6', 'A', ['f', '3'], by='monitor')
    h.enrol('nurse', *ids(13, 18))
    h.amend(arm_closed('B'), renamed('site', '2', 'two'))
    closing = h.last_at()
    h.instead_drawn('drawn as if the urns had those of a closed arm', 'nurse', '001-0019', 'closed arms')
    h.instead('a slot of the closed arm', lambda it: it.enrol('nurse', '001-0019'),
              sections=lambda sections: (sections['draw'].update(slot=3), sections['allocation'].update(treatment='B')),
              found=['full', 'open'], field=['draw.slot', 'allocation.treatment'])
    h.instead('slots counted without those of the closed arm', lambda it: it.enrol(
        'nurse', '001-0019', levels=next(it.names(p) for p in it.all_places() if it.may_have(p, it.keys['nurse'])
                                         and it.drawn(p, it.counts())[0] == 5)),
        sections=put('draw', slot=3), found=['full'], field='draw.slot')
    h.force('F7', 'B', ['f', '3'], occurred_at=closing - 1, by='monitor', note='a slot of a closed arm')
    h.force('F8', 'B', ['f', '3'], occurred_at=closing - 1, by='monitor', note='the other one')
    h.enrol('nurse', *ids(19, 21))
    h.amend(arm_reopened('B'), policy('forcedCounts', 'not-counted'), urn(D='chisquare', w=1, beta=1),
            history='restart')
    h.enrol_until_told('nurse', ids(22, 25), 'unsorted', 'drawn from balls that are not sorted')
    h.instead('beyond the limit in all', lambda it: it.enrol('nurse', '001-0026', levels=['m', '1']),
              field='type')
    h.amend(setting('limits'))
    h.enrol('nurse', *ids(26, 34))
    return h


def one_one_two():
    h = History('1:1:2 by chi-square, blinded, started paused, recovered and moved', {
        'name': '1 : 1 : 2', 'D': 'chisquare', 'ratio': [1, 1, 2], 'treatments': ['α', 'β', 'γ'], 'blinding': 'blinded',
        'start': 'paused', 'factors': factors(**{'Größe': ['S', 'L'], 'site': ['1', '2'], 'z': ['only']})})
    h.key('nurse', 'randomize', 'blinded')
    h.key('data', 'correct', 'blinded')
    h.key('monitor', 'force', 'read')
    h.register()
    h.wait(h=2)
    h.force('F1', 'γ', ['S', '1', 'only'], by='monitor')
    h.resume('begin')
    h.enrol_until_told('nurse', ids(1, 10), 'unsorted', 'drawn from balls that are not sorted')
    h.begin_anew(h.declare_loss(1, 'the disk was full', signed=(5, 0)))
    h.instead('without the slot, after a recovery', lambda it: it.enrol('nurse', '001-0011'), found=['full'],
              sections=lambda sections: sections['draw'].pop('slot'), field='draw.slot')
    h.enrol('nurse', *ids(11, 16))
    h.amend(arm_closed('α'), reason='γ still has two slots')
    h.enrol('nurse', *ids(17, 22))
    h.correct('001-0017', h.next_levels('001-0017', 'Größe', 'site'), by='data')
    h.move('sqlite:/new', arrived_from='sqlite:/old')
    h.enrol('nurse', *ids(23, 25))
    h.amend(arm_reopened('α'), arm_closed('γ'), retired('site'), history='restart',
            reason='no open arm has two slots, and the ratio stays')
    h.instead('without the slot, as no open arm has two', lambda it: it.enrol('nurse', '001-0026'), found=['full'],
              sections=lambda sections: sections['draw'].pop('slot'), field='draw.slot')
    h.enrol('nurse', *ids(26, 29))
    h.amend(arm_reopened('γ'))
    h.force('F2', 'γ', ['S', 'only'], ago=0, by='monitor')
    h.force('F3', 'γ', ['L', 'only'], ago=0, by='monitor')
    h.enrol('nurse', *ids(30, 36))
    return h


def ratios_come_and_go():
    h = History('ratios by amendment, with closed arms and new ones, ended with ones, and begun again', {
        'name': 'RATIOS', 'mode': 'test', 'D': 'chisquare', 'treatments': ['A', 'B', 'C'],
        'policies': {'voidCounts': 'removed', 'levelCounts': 'as-corrected'},
        'factors': factors(sex=['m', 'f'], site=['1', '2'])})
    h.key('nurse', 'randomize', 'read')
    h.key('data', 'correct', 'read')
    h.key('monitor', 'force', 'read')
    h.key('manager', 'manage')
    h.register()
    h.enrol('nurse', *ids(1, 8))
    h.instead('ones, while there is no ratio', lambda it: it.amend(ratio_of(2, 1, 1)),
              lambda data: data['changes'][0].update(value=[1, 1, 1]), field='data.changes[0].kind')
    h.instead('a ratio without the arm that is closed with it', lambda it: it.amend(arm_closed('B'), ratio_of(2, 1, 1)),
              lambda data: data['changes'][1].update(value=[2, 1]), field='data.changes[1].value')
    h.instead('41 slots', lambda it: it.amend(ratio_of(2, 1, 1)),
              lambda data: data['changes'][0].update(value=[20, 20, 1]), field='data.changes[0].value')
    h.amend(ratio_of(2, 1, 1), by='manager')
    h.instead_drawn('drawn as if the urns had not begun anew', 'nurse', '001-0009', 'earlier epochs')
    h.enrol_until_told('nurse', ids(9, 14), 'unsorted', 'drawn from balls that are not sorted')
    h.force('F1', 'A', ['m', '1'], by='monitor')
    h.force('F2', 'A', ['f', '2'], by='monitor')
    h.void('001-0001', 'duplicate', duplicate_of='001-0002', by='data', note='of an earlier epoch')
    h.enrol('nurse', *ids(15, 17))
    h.amend(arm_closed('A'), approvals=[])
    closing = h.last_at()
    h.enrol('nurse', *ids(18, 20))
    h.force('F3', 'A', ['f', '2'], occurred_at=closing - 1, by='monitor')
    # The closed arm has a number, too, and its slots come where it stands.
    h.amend(ratio_of(3, 1, 2), by='manager')
    h.enrol('nurse', *ids(21, 26))
    h.correct('F3', {'sex': 'm'}, by='data', note='of an earlier epoch')
    h.force('F4', 'A', ['f', '2'], occurred_at=closing - 1, by='monitor', note='at a slot of now')
    h.force('F5', 'C', ['f', '2'], by='monitor')
    h.amend(arm_reopened('A'), by='manager')
    h.enrol_until_told('nurse', ids(27, 31), 'first slot',
                       'drawn as if all entries were at the first slot of their arm')
    h.amend(arm_added('D', 2), ratio_of(3, 1, 2, 1), renamed('site', '1', 'one'), by='manager')
    h.enrol('nurse', *ids(32, 36))
    h.amend(ratio_of(1, 1, 1, 1), reason='the ratio ends')
    h.instead('entered with a slot, when the ratio has ended', lambda it: it.force('F6', 'D', ['m', 'one'], ago=0),
              sections=put('allocation', slot=3), found=['full', 'open'], field='allocation.slot')
    h.enrol('nurse', *ids(37, 41))
    h.force('F6', 'D', ['m', 'one'], ago=0, by='monitor')
    h.reinstate('001-0001', by='data')
    h.amend(ratio_of(1, 1, 1, 3), ratio_of(1, 1, 1, 1), arm_closed('C'), by='manager', reason='there and back')
    h.enrol('nurse', *ids(42, 44))
    h.amend(arm_added('E', 2), history='keep', by='manager', reason='a ratio, and the history is kept')
    h.enrol('nurse', *ids(45, 49))
    h.instead('entered without a slot', lambda it: it.force('F7', 'E', ['m', 'one'], ago=0),
              sections=put('allocation', slot=None), found=['full', 'open'], field='allocation.slot')
    h.force('F7', 'E', ['m', 'one'], ago=0, by='monitor')
    h.force('F8', 'E', ['m', '2'], ago=0, by='monitor')
    h.correct('F7', {'sex': 'f'}, by='data')
    h.enrol('nurse', *ids(50, 53))
    h.amend(ratio_of(2, 1, 1, 1, 1), urn(D='variance', beta=2))
    h.enrol_until_told('nurse', ids(54, 60), 'unsorted', 'drawn from balls that are not sorted')
    return h


def factors_retire():
    h = History('factors that retire, with corrections of those who have a level of them, limits and keys', {
        'name': 'FACTORS RETIRE', 'treatments': ['A', 'B', 'C'],
        'policies': {'levelCounts': 'as-corrected', 'voidCounts': 'removed', 'stopAtLimit': True},
        'limits': {'total': 60, 'levels': [{'factor': 'site', 'level': '1', 'max': 30}]},
        'factors': factors(sex=['m', 'f'], age=['y', 'o', '?'], site=['1', '2'])})
    h.key('nurse', 'randomize', 'read')
    h.key('young', 'randomize', 'read', where=[{'factor': 'age', 'levels': ['y']}])
    h.key('data', 'correct', 'read')
    h.key('data-young', 'correct', 'read', where=[{'factor': 'age', 'levels': ['y']}])
    h.key('monitor', 'force', 'read')
    h.key('monitor-young', 'force', 'read', where=[{'factor': 'age', 'levels': ['y']}])
    h.key('manager', 'manage')
    h.register()
    h.enrol('nurse', *ids(1, 8))
    h.enrol('young', *ids(9, 10))
    h.force('F1', 'A', ['f', 'o', '2'], by='monitor')
    h.correct('001-0001', h.next_levels('001-0001', 'age'), by='data')
    h.instead('a factor that there is not retires', lambda it: it.amend(retired('age')),
              lambda data: data['changes'][0].update(factor='weight'), field='data.changes[0].factor')
    h.instead('all factors retire', lambda it: it.amend(retired('age')),
              lambda data: data['changes'].extend([retired('sex'), retired('site')]), field='data.changes[2].factor')
    h.instead('a factor retires twice', lambda it: it.amend(retired('age')),
              lambda data: data['changes'].append(retired('age')), field='data.changes[1].factor')
    h.instead('a level of it is added as it retires', lambda it: it.amend(retired('age')),
              lambda data: data['changes'].append(added('age', 'x')), field='data.changes[1].factor')
    h.instead('it retires, and it is not said what the urns count', lambda it: it.amend(retired('age')),
              lambda data: data.pop('history'), field='data.history')
    h.amend(retired('age'), by='manager', reason='no longer collected')
    h.instead('a level of it is recorded still', lambda it: it.enrol('nurse', '001-0011'),
              lambda data: data['levels'].insert(1, {'factor': 'age', 'level': 'y'}),
              field='data.levels')
    h.instead('drawn by a key that is for a level of it', lambda it: it.enrol(
        'young', '001-0011', levels=['m', '2']),
              field='actor.keyId')
    h.instead('entered by a key that is for a level of it', lambda it: it.force(
        'F2', 'A', ['m', '2'], by='monitor-young'),
              field='actor.keyId')
    h.enrol('nurse', *ids(11, 14))
    h.instead('a level of it is recorded of an entry', lambda it: it.force('F2', 'A', ['m', '2']),
              lambda data: data['levels'].insert(1, {'factor': 'age', 'level': 'y'}),
              field='data.levels')
    h.force('F2', 'B', ['m', '2'], by='monitor')
    h.instead('its level is corrected', lambda it: it.correct('001-0002', it.next_levels('001-0002', 'sex')),
              lambda data: data.update(changes=[{'factor': 'age', 'from': it_level(h, '001-0002'), 'to': '?'}]),
              field='data.changes[0].factor')
    for about, wrong in [('closed', closed('age', 'y')), ('added', added('age', 'x')),
                         ('renamed', renamed('age', 'y', 'young'))]:
        h.instead(f'a level of it is {about}', lambda it: it.amend(closed('site', '2')),
                  lambda data, wrong=wrong: data.update(changes=[wrong]), field='data.changes[0].factor')
    h.instead('it retires once more', lambda it: it.amend(closed('site', '2')),
              lambda data: data.update(changes=[retired('age')]), field='data.changes[0].factor')
    h.correct('001-0001', h.next_levels('001-0001', 'sex', 'site'), by='data', note='of those that are left')
    h.correct('001-0009', h.next_levels('001-0009', 'sex'), by='data-young', note='it keeps whom it had')
    h.correct('001-0011', h.next_levels('001-0011', 'sex'), by='data', note='who has no level of it')
    h.void('001-0003', 'duplicate', duplicate_of='001-0011', by='data')
    h.void('001-0012', 'never-enrolled', by='data')
    h.rename('001-0010', '001-0100', by='data-young')
    h.enrol('nurse', *ids(15, 19))
    h.reinstate('001-0003', by='data')
    h.reinstate('001-0012', by='data')
    h.amend(renamed('site', '1', 'one'), added('site', '3'), arm_closed('C'), by='manager')
    h.enrol('nurse', *ids(20, 24))
    h.instead('two factors are left, and both retire', lambda it: it.amend(retired('sex')),
              lambda data: data['changes'].append(retired('site')), field='data.changes[1].factor')
    # Its last open level is closed, but it is no factor any more.
    h.amend(closed('sex', 'm'), closed('sex', 'f'), retired('sex'), history='restart', by='manager')
    h.enrol('nurse', *ids(25, 29))
    h.instead('the last factor retires', lambda it: it.amend(closed('site', '2')),
              lambda data: data.update(changes=[retired('site')]), field='data.changes[0].factor')
    h.correct('001-0002', h.next_levels('001-0002', 'site'), by='data', note='of an earlier epoch')
    h.correct('001-0025', h.next_levels('001-0025', 'site'), by='data', note='of this one')
    h.force('F3', 'A', ['3'], by='monitor', ago=0)
    h.void('F3', 'entry', by='data')
    h.void('F1', 'entry', by='data')
    h.force('F1', 'B', ['one'], replaces=h.enrolled['F1']['revision'], by='monitor', note='with fewer levels')
    h.instead('a level that is closed as the last one', lambda it: it.amend(closed('site', '2')),
              lambda data: data['changes'].extend([closed('site', '3'), closed('site', 'one')]),
              field='data.changes[2].level')
    # All open levels close, and another one is added.
    h.amend(closed('site', '2'), closed('site', '3'), closed('site', 'one'), added('site', '4'), by='manager')
    h.enrol('nurse', *ids(30, 31))
    h.amend(reopened('site', 'one'), arm_reopened('C'), ratio_of(1, 2, 1), by='manager')
    h.enrol_until_told('nurse', ids(32, 38), 'unsorted', 'drawn from balls that are not sorted')
    h.begin_anew(h.declare_loss(1, 'restored behind a factor that retired'))
    h.enrol('nurse', *ids(39, 40))
    return h


def it_level(history, participant):
    return history.levels_of(participant)['age']


def imported_with_slots():
    h = History('an import of a study that ran with three arms for 2:1: rows drawn again, and others', {
        'name': 'IMPORTED 2:1', 'D': 'chisquare', 'ratio': [2, 1], 'treatments': ['A', 'B'], 'start': 'paused',
        'factors': factors(sex=['m', 'f'], site=['1', '2'])}, seed=5**70)
    h.key('nurse', 'randomize', 'read')
    h.key('monitor', 'force', 'read')
    h.key('data', 'correct', 'read')
    h.register()
    there = OtherSystem(h, h.seed)
    there.draw(*ids(1, 9))
    there.draw('001-0010', back=2, missed=1)
    there.draw('001-0011', outcome='override')
    there.enter('001-0012', 1, ['m', '1'])
    there.draw(*ids(13, 16))
    there.draw('001-0017', state=saved(numpy.random.PCG64(99)))
    there.draw('001-0018', is_shown=False)
    there.draw(*ids(19, 24))
    how = {'names': {'A1': 'A', 'A2': 'A'}, 'slots': {'A1': 0, 'A2': 1}, 'approvals': [RUIZ]}
    h.instead('continued, with a ratio', lambda it: it.begin_import(
        there.file(), seed_known=True, generator='continued', **how), field='data.generator')
    h.begin_import(there.file(), seed_known=True, **how)
    h.instead('a row that is drawn again, with a slot beside the draw', lambda it: it.import_rows(1),
              sections=put('allocation', slot=0), found=['full', 'open'], field='allocation.slot')
    h.instead('a row that is drawn again, without its slot', lambda it: it.import_rows(1),
              sections=lambda sections: sections['draw'].pop('slot'), found=['full'])
    h.import_rows(4)
    first = h.importing['rows'][4][1][0]['slot']
    h.instead('a row that is drawn again, at another slot', lambda it: it.import_rows(1),
              sections=put('draw', slot=(first + 1) % 3), found=['full'], field='draw.slot')
    h.import_rows(6)
    # The twelfth row was entered at the second slot.
    h.import_rows(0)
    taken = h.importing['taken']
    upto = next(i for i, (row, _) in enumerate(h.importing['rows']) if row['id'] == '001-0012')
    h.import_rows(upto - taken)
    h.instead('a row that was not drawn, without a slot', lambda it: it.import_rows(1),
              sections=put('allocation', slot=None), found=['full', 'open'],
              field='allocation.slot')
    h.instead('a row that was not drawn, at a slot of another arm', lambda it: it.import_rows(1),
              sections=put('allocation', slot=2), found=['full', 'open'],
              field='allocation.slot')
    h.import_rows()
    h.end_import()
    h.resume('it goes on here')
    h.enrol('nurse', *ids(25, 30))
    h.force('F1', 'A', ['m', '2'], by='monitor')
    h.void('001-0012', 'ineligible', by='data')
    h.correct('001-0011', h.next_levels('001-0011', 'site'), by='data')
    h.enrol('nurse', *ids(31, 33))
    h.amend(arm_added('C'), history='keep')
    h.enrol('nurse', *ids(34, 36))
    h.amend(ratio_of(3, 1, 1), renamed('site', '1', 'one'))
    h.correct('001-0013', h.next_levels('001-0013', 'site'), by='data', note='imported, and of an earlier epoch')
    h.enrol_until_told('nurse', ids(37, 42), 'unsorted', 'drawn from balls that are not sorted')
    return h


def imported_without_slots():
    h = History('imports into amended studies: without names of slots, with a retired factor, given up and repeated', {
        'name': 'IMPORTED, NO SLOTS', 'mode': 'test', 'D': 'variance', 'treatments': ['A', 'B'],
        'factors': factors(sex=['m', 'f'], old=['x', 'y'], site=['1', '2'])}, seed=7**60)
    h.key('tester', 'randomize', 'read', 'manage')
    h.key('monitor', 'force', 'read')
    h.register()
    h.amend(retired('old'), urn(D='range', beta=2), ratio_of(1, 3), approvals=[], by='tester')
    there = OtherSystem(h, h.seed)
    there.draw(*ids(1, 6))
    # The file has one name for all three slots of B.
    h.begin_import(there.file(), seed_known=True, names={'Bee': 'B'}, approvals=[])
    h.instead('a row with a level of a retired factor', lambda it: it.import_rows(1),
              lambda data: data['levels'].insert(1, {'factor': 'old', 'level': 'x'}),
              field='data.levels')
    h.import_rows(3)
    h.instead('amended while it is imported', lambda it: it.amend(arm_closed('A'), arm_added('C'), approvals=[]),
              field='type')
    h.abort_import('the wrong file')
    there = OtherSystem(h, h.seed)
    there.enter('001-0001', 1, ['m', '1'])
    there.enter('001-0002', 1, ['f', '1'])
    there.draw(*ids(3, 8))
    there.enter('001-0009', 1, ['m', '2'])
    there.draw(*ids(10, 14))
    h.begin_import(there.file(is_shuffled=True), seed_known=True, approvals=[])
    h.import_rows(1)
    h.instead('not at the slot with the fewest', lambda it: it.import_rows(1),
              sections=put('allocation', slot=3), found=['full'], field='allocation.slot')
    h.import_rows()
    h.end_import()
    h.enrol('tester', *ids(15, 20))
    h.force('F1', 'B', ['m', '1'], by='monitor')
    h.amend(ratio_of(1, 1), approvals=[], by='tester')
    h.enrol('tester', *ids(21, 25))
    h.amend(arm_closed('A'), arm_closed('B'), arm_added('C'), arm_added('D'), history='keep', approvals=[BOARD],
            reason='both in place of both')
    h.enrol('tester', *ids(26, 30))
    return h


def imported_from_elsewhere_with_a_ratio():
    h = History('an import of another format into a study with a ratio, whose slots are given by rule or by name', {
        'name': 'IMPORTED CSV 3:1', 'D': 'range', 'ratio': [3, 1], 'treatments': ['A', 'B'],
        'factors': factors(sex=['m', 'f'], site=['1', '2', '3'])})
    h.key('nurse', 'randomize', 'read')
    h.key('data', 'correct', 'read')
    h.register()
    there = OtherSystem(h, 1)
    for n in range(1, 11):
        there.enter(f'001-{n:04}', 3 if n % 4 == 0 else 0, [['m', 'f'][n % 2], ['1', '2', '3'][n % 3]])
    h.begin_import(there.file(), source_format='csv', approvals=[RUIZ])
    h.import_rows(5)
    fewest = h.importing['rows'][5][1][2]
    h.instead('a row at a slot of its arm that has more', lambda it: it.import_rows(1),
              sections=put('allocation', slot=(fewest + 1) % 3), found=['full'], field='allocation.slot')
    h.instead('a row at the slot of another arm', lambda it: it.import_rows(1),
              sections=put('allocation', slot=3), found=['full', 'open'], field='allocation.slot')
    h.instead('a row without a slot', lambda it: it.import_rows(1),
              sections=put('allocation', slot=None), found=['full', 'open'], field='allocation.slot')
    h.import_rows()
    h.end_import()
    h.enrol('nurse', *ids(11, 16))
    h.correct('001-0001', h.next_levels('001-0001', 'site'), by='data')
    h.amend(arm_closed('B'), arm_added('C', 2), history='keep', protocol={'version': '2'})
    h.enrol('nurse', *ids(17, 22))
    h.amend(arm_reopened('B'), history='restart')
    h.void('001-0002', 'ineligible', by='data')
    h.enrol('nurse', *ids(23, 28))
    return h


def packs(prefix, **numbers):
    """So many codes for each treatment; the treatments take turns."""
    taken = {treatment: [] for treatment in numbers}
    total = 0
    for turn in range(max(numbers.values())):
        for treatment, number in numbers.items():
            if turn < number:
                total += 1
                taken[treatment].append(f'{prefix}{total:02}')
    return taken


def packs_for_everybody():
    h = History('packs for everybody: lists, stock-outs, replacements, withdrawals, and code-breaks by the pack', {
        'name': 'PACKS', 'treatments': ['A', 'Verum', 'placebo'], 'targetEnrollment': 40,
        'factors': factors(sex=['m', 'f'], site=['1', '2'])})
    h.key('nurse', 'randomize', 'blinded')
    h.key('pharmacy', 'supply', 'read')
    h.key('desk', 'unblind', 'blinded')
    h.key('data', 'correct', 'blinded')
    h.register()
    h.instead('a pack of a study without packs', lambda it: it.enrol('nurse', '001-0001'),
              lambda data: data.update(code='K01'), field='data.code')
    h.instead('a pack of a study without packs is entered', lambda it: it.force('F1', 'A', ['m', '1'], ago=0),
              lambda data: data.update(code='K01'), field='data.code')
    h.instead('a code-break by a pack of a study without packs', lambda it: it.reveal(
        'other', None, 'a child ate it', code='K01'))
    h.enrol('nurse', *ids(1, 5))
    first = packs('K', A=9, Verum=9, placebo=3)
    h.instead('the first list is the second', lambda it: it.register_codes(first), lambda data: data.update(list=2),
              field='data.list')
    h.instead('more packs than a list has', lambda it: it.register_codes(first),
              lambda data: data.update(count=4001), field='data.count')
    h.instead('fewer packs than it says', lambda it: it.register_codes(first),
              lambda data: data.update(count=20), found=['full'], field='data.count')
    for about, wrong in [('a pack twice on a list', {'A': ['K1', 'K2'], 'Verum': ['K1']}),
                         ('a treatment that there is not', {'B': ['K1']}),
                         ('a code that is the name of an arm', {'Verum': ['K1', 'a']}),
                         ('a code with the name of an arm in it', {'A': ['K1-vErUm-1']})]:
        h.instead(about, lambda it: it.register_codes(wrong), found=['full'], field='codes.entries')
    h.register_codes(first)
    h.instead('another pack for somebody who came before there were any', lambda it: it.replace_pack('001-0001'),
              field='data.code')
    h.instead('no pack', lambda it: it.enrol('nurse', '001-0006'), lambda data: data.pop('code'), field='data.code')
    h.instead('a free pack that is not the next one', lambda it: it.enrol(
        'nurse', '001-0006', code=lambda arm: it.other_pack('001-0006', arm, [0, 0])), found=['full'],
              field='data.code')
    h.instead('a pack of another arm', lambda it: it.enrol(
        'nurse', '001-0006', code=lambda arm: next(first[other][0] for other in it.arms if other != arm)),
        found=['full'], field='data.code')
    h.instead('a pack that there is not', lambda it: it.enrol('nurse', '001-0006', code=lambda arm: 'K1'),
              found=['full'], field='data.code')
    h.enrol('nurse', '001-0006')
    used = h.enrolled['001-0006']['code']
    h.instead('a pack that somebody has', lambda it: it.enrol('nurse', '001-0007', code=lambda arm: used),
              field='data.code')
    number = 7
    while h.are_stocked(h.arms, [0, 0]):
        h.enrol('nurse', f'001-{number:04}')
        number += 1
    [empty] = [arm for arm in h.arms if not h.free_packs(arm, [0, 0])]
    # An arm of which there are packs would be drawn.
    left = next(h.names(places) for places in h.all_places()
                if h.arms[h.drawn(places, h.counts())[0]] != empty)
    h.instead('somebody comes while an arm has no packs', lambda it: it.enrol(
        'nurse', f'001-{number:04}', levels=left), found=['full'], field='type')
    stocked = [i for i, person in h.enrolled.items() if person['code'] and h.arms[person['arm']] != empty]
    h.instead('a site gets another pack while an arm has none', lambda it: it.replace_pack(stocked[0], by='nurse'),
              found=['full'], field='type')
    h.replace_pack(stocked[0], 'lost', by='pharmacy')
    h.replace_pack(stocked[1], 'expired')
    free = h.packs_now()['free']
    h.withdraw(free[0], by='pharmacy', request='recall')
    gone = free[0]
    for about, codes in [('a pack that somebody has', [used]), ('a pack that there is not', ['K1']),
                         ('a pack that is withdrawn', [gone]), ('a pack twice', [free[1], free[1]])]:
        h.instead(f'{about} is withdrawn', lambda it: it.withdraw(*codes), found=['full'],
                  field='withdrawn.codes')
    h.instead('fewer packs are withdrawn than it says', lambda it: it.withdraw(free[1]),
              lambda data: data.update(count=2), found=['full'], field='data.count')
    h.instead('packs are withdrawn by a key that may not', lambda it: it.withdraw(free[1], by='nurse'),
              field='actor.keyId')
    for about, code in [('is free', free[1]), ('somebody has', used), ('is withdrawn', gone)]:
        h.instead(f'a pack that {about} is on a list again', lambda it: it.register_codes({'A': [code]}),
                  found=['full'], field='codes.entries')
    h.instead('the second list is the first', lambda it: it.register_codes({'A': ['L1']}),
              lambda data: data.update(list=1), field='data.list')
    h.register_codes(packs('L', A=9, Verum=9, placebo=9))
    h.enrol('nurse', *ids(number, number + 3))
    # Of whom other packs come next by another id.
    one = f'001-{number:04}'
    arm = h.arms[h.enrolled[one]['arm']]
    h.instead('a pack that is withdrawn', lambda it: it.replace_pack(one, by='nurse', pack=gone), found=['full'],
              field='data.by')
    h.instead('another pack, but not the next one', lambda it: it.replace_pack(
        one, by='nurse', pack=it.other_pack(one, arm, [0, 0])), found=['full'], field='data.by')
    h.instead('another pack of another arm', lambda it: it.replace_pack(one, by='nurse', pack=next(
        it.next_pack(one, other, [0, 0]) for other in it.arms if other != arm)), found=['full'], field='data.by')
    h.instead('another pack that somebody has', lambda it: it.replace_pack(one, by='nurse', pack=used),
              field='data.by')
    h.instead('another pack, which is the same', lambda it: it.replace_pack(
        one, by='nurse', pack=it.enrolled[one]['code']), field='data.by')
    h.instead('another pack in place of one that they have not', lambda it: it.replace_pack(one, by='nurse'),
              lambda data: data.update(code=used), field='data.code')
    h.instead('another pack by a key that may not', lambda it: it.replace_pack(one, by='desk'), field='actor.keyId')
    h.replace_pack(one, by='nurse', request='1', behalf='Dr. Ōta')
    to = next(i for i in ids(1, 99, 'Z{}') if h.next_pack(i, arm, [0, 0]) != h.next_pack(one, arm, [0, 0]))
    h.rename(one, to, by='data')
    h.instead('the next pack by the id of now', lambda it: it.replace_pack(
        one, by='nurse', pack=it.next_pack(to, arm, [0, 0])), found=['full'], field='data.by')
    h.replace_pack(one, 'lost', by='nurse')
    h.replace_pack(one, 'other', by='nurse')
    h.instead('a fourth pack more by a site', lambda it: it.replace_pack(one, by='nurse'))
    h.replace_pack(one, by='pharmacy')
    h.replace_pack(one, by=None)
    before = [code for code, holder in h.given.items() if holder == one]
    nobody = h.packs_now()['free'][0]
    h.instead('a code-break by a pack, and it is not said whose it is', lambda it: it.reveal(
        'emergency', None, 'found in a taxi', code=before[0]), field='data.participantId')
    h.instead('a code-break by a pack, and somebody else is said to have it', lambda it: it.reveal(
        'emergency', stocked[0], 'found in a taxi', code=before[0]), field='data.participantId')
    h.instead('a code-break by a pack that nobody has, and somebody is said to', lambda it: it.reveal(
        'emergency', one, 'found in a taxi', code=nobody), field='data.participantId')
    h.instead('a code-break by a pack that there is not', lambda it: it.reveal(
        'emergency', None, 'found in a taxi', code='K1'), found=['full'], field='type')
    h.instead('a code-break of nobody, and by no pack', lambda it: it.reveal('emergency', None, 'found in a taxi'))
    h.reveal_pack('emergency', before[-1], 'found in a taxi', by='desk')
    h.reveal_pack('safety-report', before[0], 'a pack of before', by='desk', request='2')
    h.reveal_pack('other', nobody, 'stolen', by='desk', requested_by='the police')
    h.reveal_pack('other', gone, 'back at the factory')
    # Whoever has it: it is not asked by the pack.
    h.reveal('planned', stocked[0], 'as planned')
    h.begin_anew(h.declare_loss(1, 'the disk was full'))
    h.amend(setting('target', 60))
    h.enrol('nurse', *ids(number + 4, number + 6))
    h.close('target', 'full')
    h.instead('a site gets another pack while an arm has two', lambda it: it.replace_pack(
        f'001-{number + 1:04}', by='nurse'), found=['full'], field='type')
    h.register_codes({'Verum': ['M5'], 'placebo': ['M.1', 'M/2', 'M_3', 'M-4']})
    h.withdraw('M.1', nobody, by='pharmacy', reason='the cold chain was broken')
    h.replace_pack(f'001-{number + 1:04}', by='nurse')
    h.reveal_pack('end', used, 'it is over')
    h.reopen('one more', [RUIZ])
    h.enrol('nurse', f'001-{number + 7:04}')
    return h


def packs_by_level():
    h = History('packs by level, with a new name of one, corrected levels, keys of a level, and a retired factor', {
        'name': 'PACKS BY LEVEL', 'blinding': 'blinded', 'treatments': ['A', 'B'],
        'factors': factors(sex=['m', 'f'], site=['1', '2', '3'])})
    h.key('nurse', 'randomize', 'blinded')
    h.key('nurse-1', 'randomize', 'blinded', where=[{'factor': 'site', 'levels': ['1']}])
    h.key('pharmacy-1', 'supply', where=[{'factor': 'site', 'levels': ['1']}])
    h.key('desk-2', 'unblind', 'blinded', where=[{'factor': 'site', 'levels': ['2']}])
    h.key('data', 'correct', 'blinded')
    h.register()
    of_1, of_2, of_f = packs('A1-', A=7, B=7), packs('B2-', A=7, B=7), packs('F', A=4, B=4)
    for what, factor, level in [('level', 'site', '4'), ('factor', 'age', '1')]:
        h.instead(f'a list for a {what} that there is not', lambda it: it.register_codes(of_1),
                  lambda data: data.update(where={'factor': factor, 'level': level}),
                  field=f'data.where.{what}')
    h.register_codes(of_1, where=('site', '1'))
    h.register_codes(of_2, where=('site', '2'))
    h.instead('somebody comes of a level without packs', lambda it: it.enrol(
        'nurse', '001-0001', levels=['m', '3'], code=lambda arm: of_1[arm][0]), found=['full'], field='type')
    h.instead('a pack for another level', lambda it: it.enrol(
        'nurse', '001-0001', levels=['m', '2'], code=lambda arm: of_1[arm][0]), found=['full'], field='data.code')
    h.enrol('nurse', '001-0001', levels=['m', '1'])
    h.enrol('nurse', '001-0002', levels=['f', '2'])
    h.enrol('nurse-1', '001-0003')
    h.register_codes(of_f, where=('sex', 'f'))
    h.enrol('nurse', '001-0004', levels=['f', '3'])
    h.enrol('nurse', '001-0005', levels=['f', '1'])
    h.amend(renamed('site', '1', 'Nord'), closed('site', '3'))
    h.instead('a list for a level by an old name', lambda it: it.register_codes(packs('N', A=2, B=2)),
              lambda data: data.update(where={'factor': 'site', 'level': '1'}), field='data.where.level')
    h.enrol('nurse-1', '001-0006')
    h.enrol('nurse', '001-0007', levels=['m', 'Nord'])
    h.register_codes(packs('N', A=3, B=3), where=('site', 'Nord'))
    # Who is there goes on with the treatment.
    h.register_codes(packs('C3-', A=3, B=3), where=('site', '3'))
    h.replace_pack('001-0004', by='nurse')
    h.enrol('nurse', '001-0008', levels=['f', 'Nord'])
    h.correct('001-0001', {'site': '2'}, by='data')
    h.instead('another pack for a level of before', lambda it: it.replace_pack('001-0001', by='nurse', pack=next(
        code for code in of_1[it.arms[it.enrolled['001-0001']['arm']]] if it.is_free(code))), found=['full'],
              field='data.by')
    h.instead('another pack by a key that is for a level of before', lambda it: it.replace_pack(
        '001-0001', by='nurse-1'), field='actor.keyId')
    h.replace_pack('001-0001', by='nurse')
    h.correct('001-0002', {'sex': 'm', 'site': 'Nord'}, 'transfer', by='data')
    h.replace_pack('001-0002', by='nurse-1')
    h.replace_pack('001-0003', by='pharmacy-1')
    free_1 = [code for code in h.packs if code.startswith(('A1', 'N')) and h.is_free(code)]
    free_2 = [code for code in h.packs if code.startswith('B2') and h.is_free(code)]
    h.instead('packs are withdrawn by a key that is for another level', lambda it: it.withdraw(
        free_1[0], free_2[0], by='pharmacy-1'), found=['full'], field='actor.keyId')
    h.withdraw(free_1[0], free_1[-1], by='pharmacy-1', reason='too warm')
    h.register_codes(packs('X', A=3, B=3))
    h.withdraw('X06', by='pharmacy-1', reason='for all levels, so for theirs')
    h.instead('a code-break by a pack for another level', lambda it: it.reveal_pack(
        'emergency', free_1[1], 'a child ate it', by='desk-2'), found=['full'], field='actor.keyId')
    h.reveal_pack('emergency', free_2[0], 'a child ate it', by='desk-2')
    h.reveal_pack('emergency', 'X01', 'a child ate it', by='desk-2')
    # As randomized she is of that level.
    h.reveal_pack('emergency', h.enrolled['001-0002']['code'], 'anaphylaxis', by='desk-2')
    h.enrol('nurse', *ids(9, 11))
    h.amend(retired('sex'))
    h.instead('a list for a level of a retired factor', lambda it: it.register_codes(packs('Y', A=1, B=1)),
              lambda data: data.update(where={'factor': 'sex', 'level': 'f'}), field='data.where.factor')
    of_f = [code for code in of_f['A'] + of_f['B'] if h.is_free(code)]
    h.instead('a pack for a level of a retired factor', lambda it: it.enrol(
        'nurse', '001-0012', levels=['2'], code=lambda arm: next(
            code for code in of_f if it.packs[code]['treatment'] == arm)), found=['full'], field='data.code')
    h.enrol('nurse', *ids(12, 13))
    for participant in ('001-0004', '001-0005', '001-0008'):
        h.replace_pack(participant, by='nurse')
    return h


def packs_and_entries():
    h = History('packs and allocations from outside, wrong entries among them; an import into a study with packs', {
        'name': 'PACKS, ENTERED', 'treatments': ['A', 'B'], 'start': 'paused',
        'factors': factors(sex=['m', 'f'], site=['1', '2'])})
    h.key('nurse', 'randomize', 'read')
    h.key('monitor', 'force', 'read')
    h.key('data', 'correct', 'read')
    h.key('desk', 'unblind', 'blinded')
    h.register()
    kit = packs('P', A=16, B=16)
    of_2 = packs('S', A=2, B=2)
    h.register_codes(kit)
    h.register_codes(of_2, where=('site', '2'))
    there = OtherSystem(h, h.seed)
    there.enter('001-0001', 0, ['m', '1'])
    there.enter('001-0002', 1, ['f', '2'])
    h.begin_import(there.file(), source_format='csv', approvals=[RUIZ])
    h.import_rows(1)
    h.instead('a list while it imports', lambda it: it.register_codes(packs('Q', A=1, B=1)), field='type')
    h.instead('packs are withdrawn while it imports', lambda it: it.withdraw('P01'), field='type')
    h.reveal_pack('emergency', 'P01', 'a child ate it', by='desk')
    h.import_rows()
    h.end_import()
    h.instead('another pack for somebody who was imported', lambda it: it.replace_pack('001-0001'), field='data.code')
    h.resume('begin')
    h.enrol('nurse', *ids(3, 6))
    used = h.enrolled['001-0003']['code']
    free = {arm: [code for code in codes if h.is_free(code)] for arm, codes in kit.items()}
    h.instead('a pack is entered that somebody has', lambda it: it.force('F1', 'A', ['m', '1'], code=used),
              field='data.code')
    for about, code in [('of another arm', free['B'][0]), ('that there is not', 'P1'),
                        ('for another level', of_2['A'][0])]:
        h.instead(f'a pack is entered {about}', lambda it: it.force('F1', 'A', ['m', '1'], code=code), found=['full'],
                  field='data.code')
    h.force('F1', 'A', ['m', '1'], code=free['A'][0], by='monitor')
    h.force('F2', 'B', ['f', '2'], code=of_2['B'][0], by='monitor', request='2')
    h.force('F3', 'A', ['m', '2'], by='monitor', note='the pack is not known')
    h.instead('another pack for somebody whose pack is not known', lambda it: it.replace_pack('F3'),
              field='data.code')
    h.enrol('nurse', *ids(7, 8))
    h.replace_pack('F2', by='nurse')
    h.void('F1', 'entry', by='data')
    h.reveal_pack('emergency', free['A'][0], 'of a wrong entry that is not replaced', by='desk')
    first = h.enrolled['F1']['revision']
    h.instead('the pack of a wrong entry is entered of somebody else', lambda it: it.force(
        'F4', 'A', ['m', '1'], code=free['A'][0]), field='data.code')
    h.instead('the pack of a wrong entry is drawn for somebody', lambda it: it.enrol(
        'nurse', '001-0009', code=lambda arm: free['A'][0]), field='data.code')
    h.instead('the pack of a wrong entry is named again, of another arm', lambda it: it.force(
        'F1', 'B', ['m', '1'], code=free['A'][0], replaces=first), found=['full'], field='data.code')
    h.force('F1', 'A', ['f', '1'], code=free['A'][0], replaces=first, by='monitor', note='the same pack')
    h.reveal_pack('planned', free['A'][0], 'as planned', by='desk')
    h.replace_pack('F1', by='nurse')
    h.replace_pack('F1', by='nurse')
    h.void('F1', 'entry', note='it was the other arm', by='data')
    second, had = h.enrolled['F1']['revision'], [code for code, holder in h.given.items() if holder == 'F1']
    for about, code in [('the first', had[0]), ('the second', had[1])]:
        h.instead(f'a pack is named again that was replaced: {about}', lambda it: it.force(
            'F1', 'A', ['f', '1'], code=code, replaces=second), field='data.code')
    h.force('F1', 'B', ['f', '1'], code=free['B'][1], replaces=second, by='monitor', note='another pack')
    # All three hold A.
    for about, code in [('first', had[0]), ('last', had[-1])]:
        h.instead(f'a code-break names who had the {about} pack of a wrong entry', lambda it: it.reveal(
            'emergency', 'F1', 'a child ate it', code=code), field='data.participantId')
    h.reveal_pack('emergency', had[0], 'a child ate it', by='desk')
    h.reveal_pack('emergency', had[-1], 'a child ate it, too', by='desk')
    h.reveal_pack('emergency', free['B'][1], 'anaphylaxis', by='desk')
    h.instead('the pack of a wrong entry is withdrawn', lambda it: it.withdraw(had[0]), found=['full'],
              field='withdrawn.codes')
    # What was replaced before does not count: it has three replacements.
    for cause in ('damaged', 'lost', 'other'):
        h.replace_pack('F1', cause, by='nurse')
    h.void('F1', 'entry', by='data')
    third = h.enrolled['F1']['revision']
    h.instead('another pack for a wrong entry', lambda it: it.replace_pack('F1'), field='data.participantId')
    h.instead('a pack is named again, but not that of the last entry', lambda it: it.force(
        'F1', 'A', ['f', '1'], code=had[-1], replaces=third), field='data.code')
    h.force('F1', 'A', ['f', '1'], replaces=third, by='monitor', note='no pack')
    h.void('001-0003', 'ineligible', 'keep', by='data')
    h.instead('the pack of somebody who is voided', lambda it: it.enrol('nurse', '001-0009', code=lambda arm: used),
              field='data.code')
    h.replace_pack('001-0003', by='nurse')
    h.amend(closed('site', '2'), renamed('sex', 'm', 'male'))
    h.enrol('nurse', *ids(9, 11))
    h.close('end', 'it is over')
    h.force('F5', 'B', ['male', '1'], occurred_at=h.closed_at - 1, by='monitor',
            code=next(code for code in free['B'] if h.is_free(code)))
    return h


def packs_and_arms():
    h = History('packs and arms that close, return and are added, and a ratio', {
        'name': 'PACKS 2:1', 'D': 'variance', 'ratio': [2, 1], 'treatments': ['A', 'B'],
        'factors': factors(sex=['m', 'f'], site=['1', '2'])})
    h.key('nurse', 'randomize', 'read')
    h.key('pharmacy', 'supply', 'read')
    h.register()
    h.enrol('nurse', *ids(1, 2))
    h.register_codes(packs('U', A=12, B=8))
    h.instead('a slot of the other arm, and its pack', lambda it: it.enrol('nurse', '001-0003', levels=['m', '1']),
              lambda data: data.update(code=next(
                  pack['code'] for arm in h.arms for pack in h.free_packs(arm, [0, 0])
                  if arm != h.packs[data['code']]['treatment'])), found=['full'], field='data.code')
    h.enrol('nurse', *ids(3, 8))
    h.amend(arm_added('C'))
    h.instead('somebody comes before there are packs of an arm that was added', lambda it: it.enrol(
        'nurse', '001-0009', levels=next(it.names(places) for places in it.all_places()
                                         if it.drawn(places, it.counts())[0] != 3)), found=['full'], field='type')
    with_pack = {h.arms[person['arm']]: i for i, person in h.enrolled.items() if person['code']}
    h.instead('a site gets another pack before there are packs of an arm that was added', lambda it: it.replace_pack(
        with_pack['B'], by='nurse'), found=['full'], field='type')
    h.register_codes(packs('V', C=8))
    h.enrol('nurse', *ids(9, 12))
    h.replace_pack(with_pack['B'], by='nurse')
    h.amend(arm_closed('A'))
    h.instead('packs of an arm that is closed', lambda it: it.register_codes({'A': ['W1'], 'B': ['W2']}),
              found=['full'], field='codes.closedArms')
    h.replace_pack(with_pack['A'], by='nurse')
    h.enrol('nurse', *ids(13, 14))
    h.withdraw(*(pack['code'] for pack in h.free_packs('A', [0, 0])), reason='the arm is closed')
    # No pack of A is needed, but for another pack.
    h.enrol('nurse', *ids(15, 16))
    h.instead('a site gets another pack while an arm that is closed has none', lambda it: it.replace_pack(
        with_pack['B'], by='nurse'), found=['full'], field='type')
    h.replace_pack(with_pack['B'], by='pharmacy')
    h.amend(arm_reopened('A'), history='restart')
    h.register_codes(packs('X', A=6, B=4, C=4))
    h.enrol('nurse', *ids(17, 19))
    h.replace_pack(with_pack['A'], by='nurse')
    h.amend(ratio_of(1, 1, 1))
    h.enrol('nurse', *ids(20, 22))
    return h


STUDIES = [
    unstratified, numeric_names, paused_by_people, paused_by_keys, stopped_at_limits, informative_limits,
    closed_and_reopened, test_study, code_breaks, reported_unblindings, recovered, recovered_from_nothing,
    recovered_twice, moved, constant_urns, unicode_names, large_numbers, policies, keys_of_all_kinds, everything,
    imported_and_continued, imported_while_paused, imported_from_another_system, imports_given_up, imported_again,
    recovered_while_importing, sites_come_and_go, names_back_and_forth, limits_come_and_go, rules_of_the_study,
    imported_and_amended, entered_by_hand, entered_and_not_counted, wrong_entries,
    arms_close_and_reopen, arms_are_added, other_urns, two_to_one, three_two_one, one_one_two, ratios_come_and_go,
    factors_retire, imported_with_slots, imported_without_slots, imported_from_elsewhere_with_a_ratio,
    packs_for_everybody, packs_by_level, packs_and_entries, packs_and_arms,
]


# The file: a record or a state on each line

def line(value):
    return json.dumps(value, ensure_ascii=False, separators=(',', ':'))


def listed(values, indent):
    return '[\n' + ',\n'.join(f'{indent} {line(value)}' for value in values) + f'\n{indent}]'


def written(vector):
    streams = ',\n'.join(
        f'   {line(stream)}: ' + listed(
            [{'record': record, 'sealed': sealed, 'leaf': leaf.hex()} for record, sealed, leaf in records], '   ')
        for stream, records in vector['streams'].items())
    members = ('about', 'log', 'study', 'stream', 'decidedByCounts', 'decidedByAmendments', 'decidedByForced',
               'decidedByDesign', 'findings')
    head = ',\n'.join(f'  "{name}": {line(vector[name])}' for name in members if name in vector)
    lists = ',\n'.join(
        f'  "{name}": {listed(vector[name], "  ")}' for name in ('expected', 'altered') if name in vector)
    return f'{{\n{head},\n  "streams": {{\n{streams}\n  }},\n{lists}\n }}'


if __name__ == '__main__':
    head = f'"numpy": {line(numpy.__version__)},\n"privateKey": {line(PRIVATE_KEY)}'
    studies = ',\n '.join(written(study().vector()) for study in STUDIES)
    sys.stdout.buffer.write(f'{{\n{head},\n"studies": [\n {studies}\n]\n}}\n'.encode())
