#!/usr/bin/env python3
"""Makes methods.json, on standard output: studies that allocate otherwise than with urns, and all that can happen to one.

    make-methods.py | diff - methods.json
    make-methods.py --check      computes the worked examples and the published figures of these methods again

Written from the description of the methods alone. It shares no code with the service or with the verifier of bundles;
random numbers are numpy's. Seeds and participants come from SHA-256 of a label, so every run makes the same bytes.
README.md describes the file.
"""
import hashlib
import itertools
import json
import math
import sys
from datetime import datetime, timedelta
from fractions import Fraction

import numpy

# Changes whose history can only be `restart`, under each method.
RESTARTED = {
    'complete': ['arm-reopened', 'arm-added', 'ratio'],
    'blocks': ['arm-closed', 'arm-reopened', 'arm-added', 'ratio'],
    'minimization': ['arm-reopened', 'arm-added', 'ratio'],
    'list': ['arm-closed', 'arm-reopened', 'arm-added'],
}
BEGAN = datetime(2026, 3, 1, 9)


# One draw, for all methods

def draw(numbers, weights):
    """The slot, and the uniform times 2^53 that it came from, which a copy of the generator tells beforehand."""
    twin = numpy.random.PCG64()
    twin.state = numbers.bit_generator.state
    uniform = numpy.random.Generator(twin).random()
    slot = int(numbers.choice(len(weights), p=numpy.array(weights) / sum(weights)))
    assert twin.state == numbers.bit_generator.state, 'more than one double was drawn'
    return slot, int(uniform * 2**53)


def begin_block(numbers, sizes):
    """A lot, unless there is one size only."""
    return sizes[int(numbers.integers(len(sizes)))] if len(sizes) > 1 else sizes[0]


def scores_of(measure, factor_weights, rows):
    """@param rows counts by slot, of the participant's level of each factor"""
    scores = []
    for slot in range(len(rows[0])):
        score = 0
        for weight, row in zip(factor_weights, rows):
            if measure == 'range':
                then = [n + (k == slot) for k, n in enumerate(row)]
                score += weight * (max(then) - min(then))
            else:
                score += weight * row[slot]
        scores.append(score)
    return scores


def minimizing(p_thousandths, scores):
    """The mean over the random order of the slots that share the least score, times 1000 F (K - 1)."""
    least, slots = min(scores), len(scores)
    best, rest = scores.count(least), 1000 - p_thousandths
    return [p_thousandths * (slots - 1) + (best - 1) * rest if score == least else best * rest for score in scores]


def generator(seed):
    return numpy.random.Generator(numpy.random.PCG64(seed))


def recorded_state(numbers):
    state = numbers.bit_generator.state
    return {
        'bit_generator': 'PCG64', 'state': {name: str(state['state'][name]) for name in ('state', 'inc')},
        'has_uint32': int(state['has_uint32']), 'uinteger': int(state['uinteger']),
    }


# A study

def number_from(label, below):
    return int.from_bytes(hashlib.sha256(label.encode()).digest()[:16], 'big') % below


class File:
    """A list of allocations that was made elsewhere: the arm of each row, and names of levels as the study has them then."""
    def __init__(self, written):
        self.digest = hashlib.sha256(written.encode()).hexdigest()
        self.rows = [line.split(',') for line in written.splitlines()[1:]]


# Of six rows, 51 bytes.
WORKED_FILE = 'treatment,local_site\nA,11\nB,30\nB,11\nA,11\nA,30\nB,11\n'


class Person:
    def __init__(self, levels, slot, epoch, counts=True):
        self.levels = levels            # current, by index; None of a factor that was retired before
        self.counted_levels = list(levels)
        self.slot, self.epoch, self.counts = slot, epoch, counts
        self.removed = False            # by a void


class Study:
    def __init__(self, name, about, treatments, factors, method, ratio=None, blinding=None, policies=None):
        """@param method name, then by and sizes, or measure, thousandths of p and weights, or by alone"""
        self.name, self.about = name, about
        self.method, *setting = method
        self.treatments, self.ratio = list(treatments), ratio or [1] * len(treatments)
        self.closed = set()
        self.factors = list(factors)
        self.levels = {factor: list(levels) for factor, levels in factors.items()}
        self.closed_levels, self.retired = set(), set()
        self.epoch, self.people, self.blocks, self.steps = 0, {}, {}, []
        self.policies = {
            'levelCounts': 'as-corrected' if blinding else 'as-randomized',
            'voidCounts': 'kept', 'forcedCounts': 'counted', **(policies or {}),
        }
        recorded, self.parameters = {'name': self.method}, {}
        if self.method == 'blocks':
            recorded['by'], sizes = setting
            self.per_slot = [size // sum(self.ratio) for size in sizes]
            assert all(size % sum(self.ratio) == 0 for size in sizes)
            self.by = [self.factors.index(factor) for factor in recorded['by']]
            self.parameters = {'blocks': {'perSlot': self.per_slot}}
        if self.method == 'minimization':
            self.measure, self.p, *given = setting
            self.weights = given[0] if given else [1] * len(self.factors)
            self.parameters = {'minimization': {
                'measure': self.measure, 'pThousandths': self.p, **({'weights': self.weights} if given else {}),
            }}
        if self.method == 'list':
            recorded['by'], = setting
            self.by = [self.factors.index(factor) for factor in recorded['by']]
            # Entries not used yet, by stratum; how many rows of each file are on lists, by digest.
            self.unused, self.taken, self.lists, self.skip_owed = {}, {}, 0, False
        # Who could not be randomized, and does not come back.
        self.turned_away = 0
        self.configuration = {
            'name': name, 'mode': 'live', 'treatments': list(treatments),
            'factors': [{'name': factor, 'levels': list(levels)} for factor, levels in factors.items()],
            'method': recorded,
            **({'blinding': blinding} if blinding else {}), **({'policies': policies} if policies else {}),
            **({'ratio': ratio} if ratio else {}),
        }
        self.seed = number_from(name, 2**128)
        self.make_slots()
        self.numbers = generator(self.seed)
        self.began = recorded_state(self.numbers)

    # The design

    def make_slots(self):
        """In the order of the arms; each slot is the index of its arm."""
        self.slots = [arm for arm, share in enumerate(self.ratio) for _ in range(share)]

    def open_slots(self):
        return [slot for slot, arm in enumerate(self.slots) if self.treatments[arm] not in self.closed]

    def has_ratio(self):
        return any(share != 1 for share in self.ratio)

    def active(self):
        return [f for f, factor in enumerate(self.factors) if factor not in self.retired]

    def count(self, slot, factor=None, level=None):
        """Who is counted in this epoch, on a slot: with a level of a factor, or everybody."""
        return sum(
            person.counts and not person.removed and person.epoch == self.epoch and person.slot == slot
            and (factor is None or person.counted_levels[factor] == level)
            for person in self.people.values())

    # What happens

    def did(self, kind, **members):
        self.steps.append({'type': kind, **members})

    def named(self, levels):
        return [None if level is None else self.levels[f][level] for f, level in zip(self.factors, levels)]

    def some_levels(self, label):
        """Earlier levels are likelier, so that some strata fill and others hardly begin."""
        found = []
        for f in self.factors:
            names = [level for level in self.levels[f] if (f, level) not in self.closed_levels]
            n = len(names)
            # Shares n, n - 1, ... 1.
            shares = [k for k in range(n) for _ in range(n - k)]
            name = names[shares[number_from(f'{label}/{f}', len(shares))]]
            found.append(None if f in self.retired else self.levels[f].index(name))
        return found

    def next_participant(self):
        return f'p{len(self.people) + self.turned_away + 1}'

    def enrol(self, many):
        for _ in range(many):
            participant = self.next_participant()
            self.randomize(participant, self.some_levels(f'{self.name}/{participant}'))

    def randomize(self, participant, levels):
        if self.method == 'list':
            self.look_up(participant, levels)
        else:
            self.draw(participant, levels)

    def look_up(self, participant, levels):
        """The first entry of the stratum that is not used, by list, then by place. Nothing is drawn."""
        entries = self.unused.get(tuple(levels[f] for f in self.by))
        if self.skip_owed or not entries:
            self.turned_away += 1
            self.did('NoEntry', participantId=participant, levels=self.named(levels))
            return
        treatment, entry = entries.pop(0)
        self.people[participant] = Person(levels, self.slot_of(treatment), self.epoch)
        self.did(
            'ParticipantRandomized', participantId=participant, levels=self.named(levels), treatment=treatment,
            entry=entry)

    def draw(self, participant, levels):
        slots, pick = self.open_slots(), {}
        if self.method == 'complete':
            weights = [1] * len(slots)
        if self.method == 'blocks':
            stratum = tuple(levels[f] for f in self.by)
            number, per_slot, left = self.blocks.get(stratum, (0, 0, []))
            if sum(left) == 0:
                number, per_slot = number + 1, begin_block(self.numbers, self.per_slot)
                left = [per_slot] * len(slots)
            weights, pick['block'] = left, {'number': number, 'perSlot': per_slot}
        if self.method == 'minimization':
            active = self.active()
            pick['counts'] = [[self.count(slot, f, levels[f]) for slot in slots] for f in active]
            pick['scores'] = scores_of(self.measure, [self.weights[f] for f in active], pick['counts'])
            weights = minimizing(self.p, pick['scores'])
        place, uniform53 = draw(self.numbers, weights)
        if self.method == 'blocks':
            self.blocks[stratum] = number, per_slot, [n - (k == place) for k, n in enumerate(left)]
        slot = slots[place]
        self.people[participant] = Person(levels, slot, self.epoch)
        if self.has_ratio():
            pick['slot'] = slot
        state = recorded_state(self.numbers)
        self.did(
            'ParticipantRandomized', participantId=participant, levels=self.named(levels),
            treatment=self.treatments[self.slots[slot]], pick={'weights': weights, 'uniform53': uniform53, **pick},
            after={**state, 'state': state['state']['state']})
        del self.steps[-1]['after']['bit_generator']

    # Lists made elsewhere

    def file(self, label, many, arms=None, leave_out=()):
        """@param leave_out levels by name"""
        columns = ['treatment', *(self.factors[f] for f in self.by)]
        names = [[treatment for treatment in self.treatments if treatment not in self.closed]]
        names += [[level for level in self.levels[factor] if level not in leave_out] for factor in columns[1:]]
        rows = [columns]
        for n in range(many):
            row = f'{self.name}/{label}/{n}'
            rows.append([each[number_from(f'{row}/{c}', len(each))] for c, each in zip(columns, names)])
        return File(''.join(','.join(row) + '\n' for row in rows))

    def register(self, file, many=None):
        """@param many how many rows of the file go onto this list, behind those that are on one"""
        begin = self.taken.get(file.digest, 0)
        rows = file.rows[begin:begin + many] if many else file.rows[begin:]
        assert rows
        self.lists += 1
        self.taken[file.digest] = begin + len(rows)
        entries = []
        for place, (treatment, *names) in enumerate(rows):
            assert treatment in self.treatments and treatment not in self.closed
            stratum = tuple(self.levels[self.factors[f]].index(name) for f, name in zip(self.by, names))
            found = treatment, {'list': self.lists, 'entry': place + 1}
            self.unused.setdefault(stratum, []).append(found)
            entries.append({**({'levels': names} if names else {}), 'treatment': treatment})
        self.did('ListRegistered', list=self.lists, entries=entries, file=file.digest, first=begin + 1)

    def skip(self, *strata):
        """@param strata (names of the levels, in the order of `by`; how many entries)"""
        assert self.skip_owed
        skipped = []
        for names, many in strata:
            entries = self.unused[tuple(self.levels[self.factors[f]].index(name) for f, name in zip(self.by, names))]
            assert 0 < many <= len(entries)
            del entries[:many]
            skipped.append({**({'levels': names} if names else {}), 'count': many})
        self.skip_owed = False
        self.did('EntriesSkipped', skipped=skipped)

    # What else happens

    def slot_of(self, treatment):
        """Of an arm that is entered: its slot with the fewest in the whole study, the first of equals."""
        arm = self.treatments.index(treatment)
        return min((slot for slot, each in enumerate(self.slots) if each == arm), key=self.count)

    def force(self, treatment, ago=0, replaces=None):
        """@param ago how many records before now it happened; there is one each second"""
        participant = replaces or self.next_participant()
        levels = self.some_levels(f'{self.name}/{participant}/forced {len(self.steps)}')
        counts = self.policies['forcedCounts'] == 'counted'
        # The record of a wrong entry: revision 0 is the registration.
        records = [step for step in self.steps if step['type'] != 'NoEntry']
        wrong = [revision + 1 for revision, step in enumerate(records)
                 if replaces and step['type'] == 'AllocationForced' and step['participantId'] == replaces]
        self.people[participant] = Person(levels, self.slot_of(treatment), self.epoch, counts)
        at = BEGAN + timedelta(seconds=len(records) - ago)
        self.did(
            'AllocationForced', participantId=participant, levels=self.named(levels), treatment=treatment,
            cause='outage', occurredAt=at.strftime('%Y-%m-%dT%H:%M:%S.000Z'),
            **({'replaces': wrong[-1]} if replaces else {}))

    def correct(self, participant, *factors, cause='entry'):
        """To the next level of each of these factors, the first behind the last."""
        person, changes = self.people[participant], []
        moves = cause != 'transfer' and self.policies['levelCounts'] == 'as-corrected'
        for factor in factors:
            f, names = self.factors.index(factor), self.levels[factor]
            level = person.levels[f]
            to = (level + 1) % len(names)
            changes.append({'factor': factor, 'from': names[level], 'to': names[to]})
            person.levels[f] = to
            if moves:
                person.counted_levels[f] = to
        self.did('LevelsCorrected', participantId=participant, cause=cause, changes=changes)

    def void(self, participant, cause='duplicate', of=None):
        person = self.people[participant]
        of_nobody = cause in ('duplicate', 'never-enrolled')
        person.removed = cause == 'entry' or (of_nobody and self.policies['voidCounts'] == 'removed')
        self.did(
            'AllocationVoided', participantId=participant, cause=cause, analysis='exclude',
            **({'duplicateOf': of} if of else {}))

    def reinstate(self, participant):
        self.people[participant].removed = False
        self.did('AllocationReinstated', participantId=participant)

    def amend(self, *changes, history=None):
        for change in changes:
            getattr(self, 'on_' + change['kind'].replace('-', '_'))(change)
        # Counts go to zero. Blocks are dropped, and entries are void, but their numbers go on.
        forced = any(change['kind'] in RESTARTED[self.method] for change in changes)
        if history == 'restart' or forced:
            assert history != 'keep'
            self.epoch += 1
            self.blocks = {stratum: (number, 0, []) for stratum, (number, *_) in self.blocks.items()}
            if self.method == 'list':
                self.unused, self.taken = {}, {}
        self.did('StudyAmended', changes=list(changes), **({'history': history} if history else {}))

    def on_level_added(self, change):
        self.levels[change['factor']].append(change['level'])

    def on_level_closed(self, change):
        self.closed_levels.add((change['factor'], change['level']))

    def on_level_reopened(self, change):
        self.closed_levels.remove((change['factor'], change['level']))

    def on_level_renamed(self, change):
        factor, level = change['factor'], change['level']
        names = self.levels[factor]
        names[names.index(level)] = change['to']
        if (factor, level) in self.closed_levels:
            self.closed_levels = self.closed_levels - {(factor, level)} | {(factor, change['to'])}

    def on_arm_closed(self, change):
        self.closed.add(change['treatment'])

    def on_arm_reopened(self, change):
        self.closed.remove(change['treatment'])

    def on_arm_added(self, change):
        self.treatments.append(change['treatment'])
        self.ratio.append(change.get('ratio', 1))
        self.slots += [len(self.treatments) - 1] * self.ratio[-1]

    def on_ratio(self, change):
        self.ratio = list(change['value'])
        self.make_slots()

    def on_factor_retired(self, change):
        self.retired.add(change['factor'])

    def on_policy(self, change):
        self.policies[change['name']] = change['value']

    def recover(self):
        """All records were kept. The generator goes on elsewhere."""
        self.go_on_from('StudyRecovered', f'{self.name}/recovery {len(self.steps)}')

    def bring(self, many):
        """Participants from a list without states, each on an arm that another system drew."""
        rows = []
        for n in range(many):
            participant = f'p{n + 1}'
            levels = self.some_levels(f'{self.name}/{participant}')
            treatment = self.treatments[number_from(f'{self.name}/{participant}/arm', len(self.treatments))]
            self.people[participant] = Person(levels, self.slot_of(treatment), self.epoch)
            rows.append({'participantId': participant, 'levels': self.named(levels), 'treatment': treatment})
        self.go_on_from('HistoryImported', f'{self.name}/import', rows=rows)

    def go_on_from(self, kind, label, **members):
        seed = number_from(label, 2**128)
        self.numbers = generator(seed)
        # Participants who are lost, or the other system, used entries.
        self.skip_owed = self.method == 'list'
        self.did(kind, seed=str(seed), bgState=recorded_state(self.numbers), **members)

    def lines(self):
        members = {
            'about': self.about, 'configuration': self.configuration, 'seed': str(self.seed), 'bgState': self.began,
            'parameters': self.parameters,
        }
        head = ',\n'.join(f'{text(name)}:{text(value)}' for name, value in members.items())
        steps = ',\n'.join(text(step) for step in self.steps)
        return '{' + head + ',\n"steps":[\n' + steps + ']}'


# Changes of a design

def added(factor, level):
    return {'kind': 'level-added', 'factor': factor, 'level': level}


def closed(factor, level):
    return {'kind': 'level-closed', 'factor': factor, 'level': level}


def reopened(factor, level):
    return {'kind': 'level-reopened', 'factor': factor, 'level': level}


def renamed(factor, level, to):
    return {'kind': 'level-renamed', 'factor': factor, 'level': level, 'to': to}


def retired(factor):
    return {'kind': 'factor-retired', 'factor': factor}


def arm_closed(treatment):
    return {'kind': 'arm-closed', 'treatment': treatment}


def arm_reopened(treatment):
    return {'kind': 'arm-reopened', 'treatment': treatment}


def arm_added(treatment, **ratio):
    return {'kind': 'arm-added', 'treatment': treatment, **ratio}


def ratio(*value):
    return {'kind': 'ratio', 'value': value}


def policies(study, **values):
    """Those that are not so already."""
    return [{'kind': 'policy', 'name': name, 'value': value}
            for name, value in values.items() if study.policies[name] != value]


# The studies

SEX, SITE, STAGE = ['F', 'M'], ['11', '30', '47'], ['x', 'y']
SMALL = {'sex': SEX, 'site': SITE}
WIDE = {'sex': SEX, 'site': SITE, 'stage': STAGE}
COUNTED = {'levelCounts': 'as-corrected', 'voidCounts': 'removed'}
UNCOUNTED = {'levelCounts': 'as-randomized', 'voidCounts': 'kept'}


def as_drawn(study, many):
    """Participants alone."""
    study.enrol(many)


def corrected(study):
    """Levels, twice and of several factors, by a transfer, voids of every cause, and back."""
    study.enrol(9)
    study.correct('p2', 'site')
    study.enrol(3)
    study.correct('p2', 'site')
    study.correct('p5', 'sex', 'site', cause='source')
    study.enrol(4)
    study.correct('p6', 'site', cause='transfer')
    study.void('p3', of='p1')
    study.enrol(4)
    study.void('p7', 'never-enrolled')
    study.void('p8', 'ineligible')
    study.enrol(4)
    study.correct('p3', 'sex')
    study.reinstate('p3')
    study.reinstate('p8')
    study.enrol(6)
    # The other policies.
    moved = study.policies['levelCounts'] == 'as-corrected'
    study.amend(*policies(study, **(UNCOUNTED if moved else COUNTED)))
    study.correct('p2', 'site')
    study.correct('p6', 'site')
    study.void('p9', of='p4')
    study.enrol(6)
    study.amend(*policies(study, **(COUNTED if moved else UNCOUNTED)))
    study.correct('p10', 'sex')
    study.void('p11', of='p4')
    study.reinstate('p9')
    study.enrol(8)


def entered(study, first, second):
    """Two arms, entered from outside; wrong entries; and both policies."""
    study.enrol(6)
    for _ in range(3):
        study.force(first)
        study.enrol(2)
    study.force(second)
    wrong = f'p{len(study.people)}'
    study.enrol(3)
    study.void(wrong, 'entry')
    study.enrol(3)
    study.force(first, replaces=wrong)
    study.enrol(3)
    other = 'not-counted' if study.policies['forcedCounts'] == 'counted' else 'counted'
    study.amend(*policies(study, forcedCounts=other))
    study.force(second)
    study.force(second)
    study.correct(wrong, 'site')
    study.enrol(6)
    study.void('p7', 'entry')
    study.enrol(4)
    study.reinstate('p7')
    study.enrol(6)


def opened_and_closed(study, factor, level):
    """A level waits and goes on, one is added, and one has another name."""
    study.enrol(12)
    study.amend(closed(factor, level))
    study.enrol(6)
    study.amend(added(factor, 'new'), renamed(factor, level, f'{level} West'))
    study.enrol(12)
    study.amend(reopened(factor, f'{level} West'), closed(factor, 'new'))
    study.enrol(12)
    study.amend(reopened(factor, 'new'), renamed(factor, f'{level} West', level))
    study.enrol(10)


def other_arms(study):
    """The last arm is closed, and another one is added. Then the first one returns."""
    last = study.treatments[-1]
    study.enrol(13)
    study.amend(arm_closed(last))
    study.enrol(11)
    study.amend(arm_added('new'))
    study.enrol(11)
    study.amend(arm_reopened(last), arm_closed(study.treatments[0]))
    study.void('p1', 'never-enrolled')
    study.correct('p2', 'site')
    study.enrol(13)


def other_shares(study, *values):
    """Its ratio changes."""
    study.enrol(10)
    for value in values:
        study.amend(ratio(*value))
        study.enrol(10)


def begun_again(study, factor):
    """A factor is retired, and later nobody counts any more."""
    study.enrol(11)
    study.amend(retired(factor))
    study.enrol(9)
    study.amend(closed('site', '47'), history='restart')
    study.enrol(12)
    study.force(study.treatments[0])
    study.enrol(4)


def lost(study):
    """Two recoveries, one of them in the middle of blocks."""
    study.enrol(9)
    study.recover()
    study.enrol(8)
    study.force(study.treatments[-1])
    study.void('p2', 'ineligible')
    study.recover()
    study.enrol(10)


def moved_here(study):
    """Its first participants were randomized elsewhere."""
    study.bring(14)
    study.enrol(10)
    study.correct('p3', 'site')
    study.void('p5', of='p4')
    study.enrol(12)


def everything(study):
    """As much as one study can take."""
    first, *_, last = study.treatments
    study.enrol(8)
    study.amend(added('site', '52'), closed('site', '47'))
    study.force(last)
    study.enrol(7)
    study.correct('p4', 'site', 'sex')
    study.void('p6', of='p1')
    study.amend(arm_closed(last))
    # It happened before the arm was closed.
    study.force(last, ago=1)
    study.enrol(8)
    study.correct('p17', 'sex')
    study.amend(arm_added('new', ratio=2), renamed('site', '30', '30 North'))
    study.enrol(9)
    study.force('new')
    study.recover()
    study.enrol(5)
    study.correct('p5', 'sex')
    study.void('p27', 'never-enrolled')
    study.amend(reopened('site', '47'), retired('stage'))
    study.enrol(9)
    study.amend(ratio(*(1 + (k == 1) for k, _ in enumerate(study.treatments))))
    study.reinstate('p27')
    study.enrol(9)
    study.force(first)
    study.void('p50', of='p49')
    study.amend(*policies(study, **UNCOUNTED), arm_reopened(last), history='restart')
    study.enrol(12)


def worked(study):
    """The sample of the description."""
    study.register(File(WORKED_FILE))
    for site in ['30', '11', '11', '30', '30']:
        study.randomize(study.next_participant(), [study.levels['local_site'].index(site)])


def listed(study):
    """Nobody before there is a list; lists of one file, between them those of another; all used up, and a last one."""
    study.enrol(2)
    first, second = study.file('first', 17), study.file('second', 9)
    study.register(first, 6)
    study.enrol(5)
    study.register(first, 1)
    study.register(second, 5)
    study.enrol(8)
    study.register(first)
    study.enrol(12)
    study.register(second)
    study.enrol(16)
    study.register(study.file('third', 12))
    study.enrol(14)


def on_a_long_list(study, story, *given):
    """Enough entries to begin with, and another list at the end."""
    study.register(study.file('first', 90))
    story(study, *given)
    study.register(study.file('second', 8))
    study.enrol(5)


def other_sites_on_lists(study):
    """A level closed, with its entries; renamed and reopened, and they go on; a new one needs its own."""
    study.register(study.file('first', 30))
    study.enrol(9)
    study.amend(closed('site', '30'))
    study.enrol(5)
    # Entries of a level that is closed.
    study.register(study.file('second', 9))
    study.amend(added('site', 'new'), renamed('site', '30', '30 West'))
    study.enrol(9)
    study.register(study.file('third', 16))
    study.enrol(4)
    study.amend(reopened('site', '30 West'), renamed('site', 'new', '52'), renamed('site', '30 West', '31'))
    study.enrol(14)
    study.register(study.file('fourth', 10))
    study.amend(renamed('site', '31', '30'))
    study.enrol(16)


def other_arms_on_lists(study):
    """Each time earlier entries are void: an arm closed, one added, one reopened, and everything begun again."""
    last = study.treatments[-1]
    first = study.file('first', 20)
    study.register(first, 12)
    study.enrol(9)
    study.amend(arm_closed(last))
    study.enrol(1)
    study.register(study.file('second', 14))
    study.enrol(8)
    study.correct('p2', 'site')
    # It happened before the arm was closed.
    study.force(last, ago=15)
    study.amend(arm_added('new'), history='restart')
    study.register(study.file('third', 12))
    study.enrol(8)
    study.amend(arm_reopened(last), added('site', '52'))
    # Void entries count neither for the stratum nor for the file, whose rows begin anew.
    study.enrol(2)
    study.register(first, 15)
    study.void('p1', 'never-enrolled')
    study.enrol(9)
    study.amend(closed('site', '47'), history='restart')
    study.register(first, 3)
    study.register(study.file('fourth', 16, leave_out=['47']))
    study.reinstate('p1')
    study.enrol(14)


def lost_on_lists(study):
    """Nobody until entries are skipped, some or none of them: after recoveries, one of them before a restart."""
    study.recover()
    study.register(study.file('first', 24))
    study.enrol(1)
    study.skip()
    study.enrol(6)
    study.recover()
    study.enrol(2)
    study.force(study.treatments[-1])
    study.skip((['F'], 2), (['M'], 1))
    study.enrol(6)
    study.recover()
    study.recover()
    study.correct('p4', 'sex')
    study.amend(renamed('sex', 'M', 'male'))
    study.register(study.file('second', 10))
    study.enrol(1)
    study.skip((['male'], 4))
    study.enrol(9)
    study.recover()
    study.amend(closed('site', '47'), history='restart')
    study.register(study.file('third', 9))
    study.enrol(1)
    study.skip((['F'], 3))
    study.enrol(8)
    study.recover()
    # All that a stratum has left.
    study.register(study.file('fourth', 7))
    study.skip((['F'], len(study.unused[0,])))
    study.enrol(7)


def moved_here_with_a_list(study):
    """Its first participants used entries of its list elsewhere, and so did those who are lost later."""
    study.register(study.file('first', 40))
    study.bring(11)
    study.enrol(1)
    study.skip((['F', '11'], 3), (['M', '11'], 2), (['F', '30'], 1), (['M', '47'], 1))
    study.enrol(10)
    study.correct('p3', 'site')
    study.void('p5', of='p4')
    study.recover()
    study.skip((['M', '30'], 1))
    study.enrol(12)


def everything_on_lists(study):
    """As much as one study with lists can take."""
    first, *_, last = study.treatments
    study.register(study.file('first', 18), 11)
    study.enrol(6)
    study.amend(added('site', '52'), closed('site', '47'))
    study.force(last)
    study.register(study.file('first', 18))
    study.enrol(6)
    study.correct('p1', 'site', 'sex')
    study.void('p2', of='p1')
    study.amend(retired('stage'), renamed('site', '30', '30 North'))
    study.enrol(4)
    study.amend(arm_closed(first), history='restart')
    # It happened before the arm was closed.
    study.force(first, ago=1)
    study.register(study.file('second', 20))
    study.enrol(7)
    study.recover()
    study.force(last)
    study.enrol(1)
    study.reinstate('p2')
    study.skip((['30 North'], 1), (['52'], 2))
    study.enrol(7)
    study.void('p7', 'entry')
    study.amend(*policies(study, **UNCOUNTED), arm_added('new'))
    study.register(study.file('third', 24))
    study.enrol(6)
    study.amend(reopened('site', '47'), renamed('site', '52', '52 South'))
    study.register(study.file('fourth', 9))
    study.reinstate('p7')
    study.enrol(16)


def all_studies():
    complete = ('complete',)
    stories = [
        (as_drawn, [30], 'COMPLETE, TWO ARMS', 'AB', SMALL, complete, {}),
        (as_drawn, [30], 'COMPLETE, 2:1:1', 'ABC', SMALL, complete, {'ratio': [2, 1, 1]}),
        (corrected, [], 'COMPLETE, CORRECTED', 'ABC', SMALL, complete, {'policies': COUNTED}),
        (entered, ['B', 'A'], 'COMPLETE, ENTERED', 'AB', SMALL, complete, {'ratio': [3, 1]}),
        (other_arms, [], 'COMPLETE, OTHER ARMS', 'ABCD', SMALL, complete, {}),
        (everything, [], 'COMPLETE, EVERYTHING', 'ABCD', WIDE, complete, {'blinding': 'blinded'}),

        (as_drawn, [24], 'BLOCKS OF 4', 'AB', SMALL, ('blocks', [], [4]), {}),
        (as_drawn, [30], 'BLOCKS OF 3 BY SITE', 'ABC', SMALL, ('blocks', ['site'], [3]), {}),
        (as_drawn, [50], 'BLOCKS OF 4 AND 6 BY SITE', 'AB', SMALL, ('blocks', ['site'], [4, 6]), {}),
        (as_drawn, [60], 'BLOCKS OF 2, 4 AND 6', 'AB', SMALL, ('blocks', [], [2, 4, 6]), {}),
        (as_drawn, [70], 'BLOCKS OF 3, 6 AND 9 BY SEX AND STAGE', 'ABC', WIDE,
         ('blocks', ['sex', 'stage'], [3, 6, 9]), {}),
        (as_drawn, [60], 'BLOCKS OF EIGHT SIZES', 'AB', SMALL, ('blocks', [], [2, 4, 6, 8, 10, 12, 14, 16]), {}),
        (as_drawn, [40], 'BLOCKS 2:1', 'AB', SMALL, ('blocks', ['sex'], [3, 6]), {'ratio': [2, 1]}),
        (as_drawn, [60], 'BLOCKS 3:2:1:1', 'ABCD', WIDE, ('blocks', ['sex', 'site'], [7, 14, 21]),
         {'ratio': [3, 2, 1, 1]}),
        (corrected, [], 'BLOCKS, CORRECTED', 'AB', SMALL, ('blocks', ['sex', 'site'], [4, 6]), {}),
        (corrected, [], 'BLOCKS, CORRECTED, BLINDED', 'AB', SMALL, ('blocks', ['site'], [4]),
         {'blinding': 'blinded', 'policies': {'voidCounts': 'removed'}}),
        (entered, ['A', 'B'], 'BLOCKS, ENTERED', 'AB', SMALL, ('blocks', ['site'], [3, 6]), {'ratio': [1, 2]}),
        (opened_and_closed, ['site', '30'], 'BLOCKS, OTHER SITES', 'AB', SMALL, ('blocks', ['site'], [4, 6]), {}),
        (other_arms, [], 'BLOCKS, OTHER ARMS', 'ABC', SMALL, ('blocks', ['sex'], [3, 6]), {}),
        (other_shares, [(1, 2), (1, 1), (3, 1)], 'BLOCKS, OTHER RATIOS', 'AB', SMALL, ('blocks', ['sex'], [3, 6]),
         {'ratio': [2, 1]}),
        (begun_again, ['stage'], 'BLOCKS, BEGUN AGAIN', 'ABC', WIDE, ('blocks', ['sex', 'site'], [6, 9]), {}),
        (lost, [], 'BLOCKS, RECOVERED', 'AB', SMALL, ('blocks', ['sex'], [4, 6, 8]), {}),
        (moved_here, [], 'BLOCKS, IMPORTED', 'AB', SMALL, ('blocks', ['site'], [4]), {}),
        (everything, [], 'BLOCKS, EVERYTHING', 'ABC', WIDE, ('blocks', ['site'], [6, 12]),
         {'ratio': [1, 2, 3], 'policies': COUNTED}),

        (as_drawn, [40], 'MINIMIZATION', 'AB', SMALL, ('minimization', 'range', 800), {}),
        (as_drawn, [40], 'MINIMIZATION BY VARIANCE', 'ABC', WIDE, ('minimization', 'variance', 800), {}),
        (as_drawn, [40], 'MINIMIZATION WITH WEIGHTS', 'ABC', WIDE, ('minimization', 'range', 617, [1, 3, 1]), {}),
        (as_drawn, [40], 'MINIMIZATION BY VARIANCE WITH WEIGHTS', 'ABCD', WIDE,
         ('minimization', 'variance', 950, [2, 1, 100]), {}),
        (as_drawn, [30], 'MINIMIZATION IN ONE LEVEL', 'AB', {'all': ['all']}, ('minimization', 'range', 667), {}),
        (as_drawn, [40], 'MINIMIZATION 2:1', 'AB', SMALL, ('minimization', 'range', 550), {'ratio': [2, 1]}),
        (as_drawn, [40], 'MINIMIZATION 3:1:2 WITH WEIGHTS', 'ABC', SMALL, ('minimization', 'variance', 900, [1, 2]),
         {'ratio': [3, 1, 2]}),
        (corrected, [], 'MINIMIZATION, CORRECTED', 'AB', SMALL, ('minimization', 'range', 800), {}),
        (corrected, [], 'MINIMIZATION, CORRECTED, BLINDED', 'ABC', SMALL, ('minimization', 'variance', 700, [1, 2]),
         {'blinding': 'blinded', 'policies': {'voidCounts': 'removed'}}),
        (entered, ['A', 'B'], 'MINIMIZATION, ENTERED', 'AB', SMALL, ('minimization', 'range', 800), {'ratio': [3, 2]}),
        (entered, ['A', 'C'], 'MINIMIZATION, ENTERED, NOT COUNTED', 'ABC', SMALL, ('minimization', 'variance', 800),
         {'policies': {'forcedCounts': 'not-counted'}}),
        (opened_and_closed, ['site', '30'], 'MINIMIZATION, OTHER SITES', 'AB', SMALL,
         ('minimization', 'range', 800), {}),
        (other_arms, [], 'MINIMIZATION, OTHER ARMS', 'ABCD', SMALL, ('minimization', 'range', 750),
         {'policies': COUNTED}),
        (begun_again, ['sex'], 'MINIMIZATION, BEGUN AGAIN', 'ABC', WIDE, ('minimization', 'range', 800, [3, 2, 1]), {}),
        (moved_here, [], 'MINIMIZATION, IMPORTED', 'ABC', SMALL, ('minimization', 'range', 800), {'policies': COUNTED}),
        (everything, [], 'MINIMIZATION, EVERYTHING', 'ABCD', WIDE, ('minimization', 'range', 850, [1, 2, 1]),
         {'policies': COUNTED}),

        (worked, [], 'LIST, WORKED', 'AB', {'local_site': ['11', '30']}, ('list', ['local_site']), {}),
        (listed, [], 'LIST FOR ALL', 'AB', SMALL, ('list', []), {}),
        (listed, [], 'LIST BY SITE', 'ABC', SMALL, ('list', ['site']), {}),
        (on_a_long_list, [corrected], 'LIST, CORRECTED', 'AB', SMALL, ('list', ['sex', 'site']), {}),
        (on_a_long_list, [corrected], 'LIST, CORRECTED, BLINDED', 'ABC', SMALL, ('list', ['sex']),
         {'blinding': 'blinded', 'policies': {'voidCounts': 'removed'}}),
        (on_a_long_list, [entered, 'A', 'B'], 'LIST, ENTERED', 'AB', SMALL, ('list', []), {}),
        (other_sites_on_lists, [], 'LIST, OTHER SITES', 'AB', SMALL, ('list', ['site']), {}),
        (other_arms_on_lists, [], 'LIST, OTHER ARMS', 'ABC', SMALL, ('list', ['site']), {}),
        (lost_on_lists, [], 'LIST, RECOVERED', 'AB', SMALL, ('list', ['sex']), {}),
        (moved_here_with_a_list, [], 'LIST, IMPORTED', 'ABC', SMALL, ('list', ['sex', 'site']), {}),
        (everything_on_lists, [], 'LIST, EVERYTHING', 'ABCD', WIDE, ('list', ['site']),
         {'blinding': 'blinded', 'policies': COUNTED}),
    ]
    for story, given, name, treatments, factors, method, more in stories:
        about = ' '.join([story.__doc__, *(each.__doc__ for each in given if callable(each))])
        study = Study(name, about, treatments, factors, method, **more)
        story(study, *given)
        yield study


def text(value):
    return json.dumps(value, separators=(',', ':'), ensure_ascii=False)


def vectors():
    studies = list(all_studies())
    assert len(studies) == 51 and len({study.name for study in studies}) == 51
    listed = ',\n'.join(study.lines() for study in studies)
    return f'{{"numpy":{text(numpy.__version__)},\n"studies":[\n{listed}\n]}}\n'


# Worked examples and published figures

G2_LEVELS = [(0, 0), (1, 0), (0, 1), (1, 2), (0, 2), (0, 0), (1, 1), (1, 1), (0, 1), (1, 0), (0, 2), (1, 2)]
G2_OUTCOMES = [12, 7, 15, 9, 11, 14, 6, 8, 13, 5, 16, 10]
TWELVE = 'F3x M1y M2y F1y F2y F3y M3x F2x F1x M3x M3x F2y'.split()


def run_blocks(numbers, slots, sizes, strata, recorded=None):
    """@param recorded sizes of the blocks in the order in which they begin, in place of lots"""
    state, begun = {}, iter(recorded or [])
    for stratum in strata:
        number, per_slot, left = state.get(stratum, (0, 0, []))
        before = recorded_state(numbers)
        if sum(left) == 0:
            number, per_slot = number + 1, next(begun) if recorded else begin_block(numbers, sizes)
            left = [per_slot] * slots
        lot = recorded_state(numbers) != before
        slot, uniform53 = draw(numbers, left)
        state[stratum] = number, per_slot, [n - (k == slot) for k, n in enumerate(left)]
        yield stratum, number, per_slot, lot, left, uniform53, slot


def run_minimization(numbers, slots, p, measure, factor_weights, people):
    counts = {}
    for levels in people:
        rows = [counts.setdefault((f, level), [0] * slots) for f, level in enumerate(levels)]
        scores = scores_of(measure, factor_weights, rows)
        weights = minimizing(p, scores)
        slot, uniform53 = draw(numbers, weights)
        for row in rows:
            row[slot] += 1
        yield scores, weights, uniform53, slot


def lettered(slots, arms):
    return ''.join(arms[slot] for slot in slots)


def the_worked_blocks():
    numbers = generator(2026)
    found = list(run_blocks(numbers, 2, [2, 3], [1, 2, 1, 1, 2, 2, 1, 2, 1, 1, 2, 1]))
    assert found == [
        (1, 1, 3, True, [3, 3], 5763825389328489, 1), (2, 1, 2, True, [2, 2], 4208779594543614, 0),
        (1, 1, 3, False, [3, 2], 3337172071648755, 0), (1, 1, 3, False, [2, 2], 3196811149088550, 0),
        (2, 1, 2, False, [1, 2], 7120355354908685, 1), (2, 1, 2, False, [1, 1], 8152810891152043, 1),
        (1, 1, 3, False, [1, 2], 1597455537214500, 0), (2, 1, 2, False, [1, 0], 5879762788251766, 0),
        (1, 1, 3, False, [0, 2], 2686872463812259, 1), (1, 1, 3, False, [0, 1], 8709621208665394, 1),
        (2, 2, 3, True, [3, 3], 5727415033203259, 1), (1, 2, 3, True, [3, 3], 6780007983830373, 1),
    ], found
    last = recorded_state(numbers)
    assert last['state']['state'] == '308269946292390932861741683681455606155'
    assert (last['has_uint32'], last['uinteger']) == (0, 3950726356)

    found = list(run_blocks(generator(2026), 3, [1, 2], [1] * 10))
    slots = [slot for *_, slot in found]
    assert lettered(slots, 'AAB') == 'AAABBAABAB' and slots == [1, 1, 0, 2, 2, 0, 0, 2, 1, 2]
    assert [3 * per_slot for _, number, per_slot, *_ in found] == [6] * 6 + [3] * 3 + [3]


def the_worked_minimization():
    def twelve(measure, factor_weights, slots=3):
        numbers = generator(2033)
        found = list(run_minimization(numbers, slots, 800, measure, factor_weights, TWELVE))
        assert recorded_state(numbers)['state']['state'] == '317772102487831745468505650783456004176'
        return found

    found = twelve('range', [1, 1, 1])
    assert [(scores, weights, uniform, 'ABC'[slot]) for scores, weights, uniform, slot in found[:10]] == [
        ([3, 3, 3], [2000, 2000, 2000], 773505215688052, 'A'), ([3, 3, 3], [2000, 2000, 2000], 6116460135213112, 'C'),
        ([3, 3, 5], [1800, 1800, 400], 5701071578266076, 'B'), ([3, 4, 5], [1600, 200, 200], 5499174981369673, 'A'),
        ([5, 5, 4], [200, 200, 1600], 8279807532384510, 'C'), ([6, 3, 5], [200, 1600, 200], 737468155004569, 'A'),
        ([5, 5, 5], [2000, 2000, 2000], 8592361452782672, 'C'), ([6, 4, 7], [200, 1600, 200], 1985337989363109, 'B'),
        ([6, 3, 5], [200, 1600, 200], 2121126193991473, 'B'), ([5, 5, 6], [1800, 1800, 400], 1612508192270917, 'A'),
    ], found
    arms = {
        (measure, *weights): lettered([slot for *_, slot in twelve(measure, weights)], 'ABC')
        for measure in ('range', 'variance') for weights in ([1, 1, 1], [1, 3, 1])
    }
    assert arms == {
        ('range', 1, 1, 1): 'ACBACACBBACB', ('range', 1, 3, 1): 'ACBACACABBCB',
        ('variance', 1, 1, 1): 'ACBBCACBABCA', ('variance', 1, 3, 1): 'ACBBCACABBCC',
    }, arms
    slots = [slot for *_, slot in twelve('range', [1, 1, 1])]
    # Two slots of A and one of B: the same slots under other names.
    assert lettered(slots, 'AAB') == 'ABAABABAAABA' and slots == [0, 2, 1, 0, 2, 0, 2, 1, 1, 0, 2, 1]


def the_worked_complete():
    numbers = generator(2026)
    found = [draw(numbers, [1, 1, 1, 1]) for _ in range(10)]
    assert lettered([slot for slot, _ in found], 'AABC') == 'ABAAACCABA'
    assert [uniform for _, uniform in found[:3]] == [1611701520384607, 5763825389328489, 4208779594543614]


def the_worked_list():
    """The file, its seal, and who gets which entry."""
    study = next(study for study in all_studies() if study.name == 'LIST, WORKED')
    registered, *rest = study.steps
    assert len(WORKED_FILE) == 51
    assert registered['file'] == 'af0a14b6c8b8d6b1f30cb7181b0617ff3c445552c881403169f136f10f023681'
    section = {name: registered[name] for name in ('entries', 'file', 'first')} | {'salt': bytes(range(16)).hex()}
    canonical = json.dumps(section, sort_keys=True, separators=(',', ':'), ensure_ascii=False).encode()
    assert len(canonical) == 343, len(canonical)
    assert hashlib.sha256(canonical).hexdigest() == 'b196f74480ff8eb6f74a1531155c4865b7b75d768747269aa03f0b32d2a8b343'
    assert registered['list'] == 1
    given = [(step['treatment'], step['entry']) for step in rest if step['type'] == 'ParticipantRandomized']
    assert given == [(arm, {'list': 1, 'entry': n}) for arm, n in [('B', 2), ('A', 1), ('B', 3), ('A', 5)]], given
    assert len(rest) == 5 and rest[4]['type'] == 'NoEntry'


def scores_and_ranks():
    rows = [[5, 2], [0, 1]]
    assert scores_of('range', [1, 1], rows) == [4, 4] and scores_of('variance', [1, 1], rows) == [5, 3]
    # The variances themselves, with one more on a slot: they order slots as their scores do, and part ties alike.
    for rows in itertools.product(itertools.product(range(3), repeat=3), repeat=2):
        exact = [sum(w * variance([n + (k == slot) for k, n in enumerate(row)]) for w, row in zip([2, 3], rows))
                 for slot in range(3)]
        scores = scores_of('variance', [2, 3], rows)
        assert all((exact[i] < exact[j]) == (scores[i] < scores[j]) for i in range(3) for j in range(3))
    # Of the slots that share the least score one, by random order, has p; all others share 1 - p.
    for scores in itertools.product(range(3), repeat=4):
        p = Fraction(617, 1000)
        least = [k for k, score in enumerate(scores) if score == min(scores)]
        mean = [sum(p if k == first else (1 - p) / 3 for first in least) / len(least) for k in range(4)]
        assert chances(minimizing(617, scores)) == mean and sum(minimizing(617, scores)) == 1000 * len(least) * 3
    assert chances(minimizing(600, [0, 0, 1])) == [Fraction(2, 5), Fraction(2, 5), Fraction(1, 5)]
    # 2:1, where both slots of A are best.
    assert sum(chances(minimizing(800, [0, 0, 1]))[:2]) == Fraction(9, 10)
    # Pocock and Simon (1975), 3.4.
    assert minimizing(667, [6, 10, 5]) == [333, 333, 1334]


def variance(numbers):
    mean = Fraction(sum(numbers), len(numbers))
    return sum((n - mean) ** 2 for n in numbers) / len(numbers)


def chances(weights):
    return [Fraction(n, sum(weights)) for n in weights]


def lives(begin, choices, steps):
    """The exact distribution of states after each step; from a state `choices` gives (chance, next state)."""
    states = {begin: Fraction(1)}
    yield states
    for step in range(steps):
        then = {}
        for state, chance in states.items():
            for part, following in choices(step, state):
                then[following] = then.get(following, 0) + chance * part
        states = then
        yield states


def in_minimization(slots, p, measure, factor_weights, people):
    """A state is the slots so far."""
    def choices(step, sofar):
        rows = [[sum(slot == k and people[i][f] == level for i, slot in enumerate(sofar)) for k in range(slots)]
                for f, level in enumerate(people[step])]
        found = chances(minimizing(p, scores_of(measure, factor_weights, rows)))
        return [(chance, (*sofar, k)) for k, chance in enumerate(found)]
    return choices


def in_one_stratum(slots, per_slot):
    """A state is the places left, and how many each slot has had."""
    def choices(step, state):
        left, had = state
        for size in [None] if sum(left) else per_slot:
            now = left if size is None else (size,) * slots
            for k, chance in enumerate(chances(now)):
                if chance:
                    yield (chance if size is None else chance / len(per_slot),
                           (tuple(n - (j == k) for j, n in enumerate(now)),
                            tuple(n + (j == k) for j, n in enumerate(had))))
    return choices


def every_step_keeps_the_ratio():
    for ratio in ([1, 1], [2, 1], [3, 1], [1, 1, 1]):
        slots = sum(ratio)
        share = Fraction(1, slots)
        for measure, factor_weights in itertools.product(('range', 'variance'), ([1, 1], [2, 1])):
            states = lives((), in_minimization(slots, 800, measure, factor_weights, G2_LEVELS), 6)
            for after in list(states)[1:]:
                for k in range(slots):
                    assert sum(chance for sofar, chance in after.items() if sofar[-1] == k) == share
        before = [0] * slots
        for after in list(lives(((0,) * slots, (0,) * slots), in_one_stratum(slots, [1, 2]), 7))[1:]:
            mean = [sum(chance * had[k] for (_, had), chance in after.items()) for k in range(slots)]
            assert [now - then for now, then in zip(mean, before)] == [share] * slots
            before = mean


def exact_figures():
    for measure, factor_weights, numerator, denominator in [
            ('range', [1, 1], 108740553, 195312500), ('variance', [1, 1], 27776676, 48828125),
            ('range', [2, 1], 29807556, 48828125), ('variance', [2, 1], 29364276, 48828125)]:
        *_, last = lives((), in_minimization(2, 800, measure, factor_weights, G2_LEVELS), 12)
        six = sum(chance for sofar, chance in last.items() if sum(sofar) == 6)
        assert six == Fraction(numerator, denominator), six

    def spread(values):
        values = list(values)
        mean = sum(chance * n for chance, n in values)
        return sum(chance * (n - mean) ** 2 for chance, n in values)

    coin = list(lives((), in_minimization(3, 800, 'range', [1], [(0,)] * 6), 6))
    blocks = list(lives(((0, 0, 0), (0, 0, 0)), in_one_stratum(3, [1, 2]), 6))
    for after, of_coin, of_blocks in [
            (3, Fraction(1, 5), Fraction(1, 5)), (6, Fraction(1457, 6250), Fraction(1, 10))]:
        assert spread((chance, sum(k < 2 for k in sofar)) for sofar, chance in coin[after].items()) == of_coin
        assert spread((chance, had[0] + had[1]) for (_, had), chance in blocks[after].items()) == of_blocks


def efrons_coin():
    """Minimization with one level and two arms."""
    for p, steps, balanced, deviation, guessed in [(650, 100, .2370, 2.3463, .6136), (700, 80, .2897, 1.7449, .6410)]:
        states, even, right = {0: Fraction(1)}, 0, 0
        for _ in range(steps):
            then = {}
            for difference, chance in states.items():
                rows = [[max(difference, 0), max(-difference, 0)]]
                found = chances(minimizing(p, scores_of('range', [1], rows)))
                right += chance * max(found)
                for part, move in zip(found, (1, -1)):
                    then[difference + move] = then.get(difference + move, 0) + chance * part
            states = then
            even += states.get(0, 0)
        of_difference = sum(chance * d * d for d, chance in states.items())
        assert close(even / steps, balanced) and close(math.sqrt(of_difference), deviation)
        assert close(right / steps, guessed)


def close(value, rounded):
    """@param rounded to four decimals"""
    return abs(value - rounded) <= 0.5001e-4


def published_blocks():
    def course(per_slot, steps):
        """After each number of steps: places left, and how many each arm has had."""
        return list(lives(((0, 0), (0, 0)), in_one_stratum(2, per_slot), steps))

    def differences(states):
        return [(chance, had[0] - had[1]) for (_, had), chance in states.items()]

    def guesses(per_slot, steps):
        """How often who knows the size guesses right, how many draws are certain, and how far p is from 1/2."""
        right, certain, forced = 0, 0, 0
        for states in course(per_slot, steps - 1):
            for (left, _), chance in states.items():
                # A block that begins has as many places for each arm, whatever its size.
                best = max(chances(left)) if sum(left) else Fraction(1, 2)
                right += chance * best
                certain += chance * (best == 1)
                forced += chance * (best - Fraction(1, 2))
        return right / steps, certain / steps, 4 * forced / steps

    for sizes, right, certain in [([2], .7083, .3333), ([3], .6800, .2410), ([2, 3], .6917, .2794)]:
        found = guesses(sizes, 100)
        assert close(found[0], right) and close(found[1], certain), (sizes, [float(x) for x in found])
    for size, steps, balanced, right, certain in [
            (4, 100, .4167, .7083, .3333), (10, 100, .3063, .6532, .1667), (20, 80, .2338, .6169, .0909)]:
        states = course([size // 2], steps)
        even = sum(chance for after in states[1:] for chance, d in differences(after) if d == 0)
        found = guesses([size // 2], steps)
        assert close(even / steps, balanced) and close(found[0], right) and close(found[1], certain)
        assert all(d == 0 for _, d in differences(states[steps])), 'the last block is not full'
    *_, last = course([2], 50)
    assert sum(chance * abs(d) for chance, d in differences(last)) == Fraction(2, 3)
    assert close(sum(chance * d * d for chance, d in differences(last)) / 50, .0267)
    assert close(guesses([2], 50)[0], .7033) and close(guesses([2], 50)[2], .8133)

    # Strata in the middle of a block: the variance beside that of no blocks at all, and 95 % of the differences.
    for strata, ratio, within in [(12, .0207, 6.9), (48, .0827, 13.8)]:
        found = Fraction(strata * sum(b * (b + 1) for b in (4, 6)), 6 * 600 * (4 + 6))
        # .020667 and .082667.
        assert close(found, ratio) and round(1.96 * math.sqrt(found * 600), 1) == within
    # Somewhere in a block of one size: (b + 1)/6 for each stratum.
    for size in (2, 4, 6, 8):
        states = course([size // 2], size - 1)
        mean = sum(chance * d * d for after in states for chance, d in differences(after)) / size
        assert mean == Fraction(size + 1, 6)


def golden_tests():
    """Re-randomization of blocks and of minimization, 9,999 times."""
    def difference(arms):
        of = [[y for y, arm in zip(G2_OUTCOMES, arms) if arm == k] for k in range(2)]
        if not all(of):
            return math.inf
        return abs(sum(of[0]) / len(of[0]) - sum(of[1]) / len(of[1]))

    def extreme(arms, observed):
        return difference(arms) >= observed - 1e-12 * max(1, observed)

    sites = [site for _, site in G2_LEVELS]
    began = list(run_blocks(generator(2**100 - 3), 2, [2, 3], sites))
    arms = [slot for *_, slot in began]
    # Each site has one block, and they begin in this order.
    by_site = {site: per_slot for site, _, per_slot, *_ in began}
    assert arms == [1, 1, 0, 0, 1, 0, 0, 1, 1, 0, 1, 0] and by_site == {0: 2, 1: 3, 2: 3}
    observed = difference(arms)
    assert abs(observed - 4 / 3) < 1e-12

    def again(seed, recorded):
        return [slot for *_, slot in run_blocks(generator(seed), 2, [2, 3], sites, recorded)]

    seeds = [2**100 + r for r in range(9999)]
    assert sum(extreme(again(seed, [2, 3, 3]), observed) for seed in seeds) == 5728
    assert sum(extreme(again(seed, None), observed) for seed in seeds) == 5857

    def given(step, sofar):
        site = sites[step]
        left = [by_site[site] - sum(k == arm and s == site for k, s in zip(sofar, sites)) for arm in range(2)]
        return [(chance, (*sofar, arm)) for arm, chance in enumerate(chances(left)) if chance]

    *_, last = lives((), given, 12)
    assert sum(chance for sofar, chance in last.items() if extreme(sofar, observed)) == Fraction(43, 75)

    def minimized(seed):
        return [slot for *_, slot in run_minimization(generator(seed), 2, 800, 'range', [1, 1], G2_LEVELS)]

    arms = minimized(2**100 - 1)
    observed = difference(arms)
    assert arms == [1, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0] and abs(observed - .5142857142857) < 1e-12
    assert sum(extreme(minimized(seed), observed) for seed in seeds) == 7720
    *_, last = lives((), in_minimization(2, 800, 'range', [1, 1], G2_LEVELS), 12)
    exact = sum(chance for sofar, chance in last.items() if extreme(sofar, observed))
    assert abs(exact - .782149) <= 0.5e-6


CHECKS = [
    the_worked_blocks, the_worked_minimization, the_worked_complete, the_worked_list, scores_and_ranks,
    every_step_keeps_the_ratio, exact_figures, efrons_coin, published_blocks, golden_tests,
]


def main(arguments):
    if arguments == ['--check']:
        for check in CHECKS:
            check()
            print(f'{check.__name__}: as written', file=sys.stderr)
    elif arguments:
        sys.exit(__doc__)
    else:
        sys.stdout.write(vectors())


if __name__ == '__main__':
    main(sys.argv[1:])
