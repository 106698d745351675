"""A switch in virtual time that is what it is said to be: what tests of switches find of it is known beforehand."""

from brimful.measurers.base import Description
from brimful.measurers.stations import BROADCAST, Exchange, Received, Sent
from brimful.policies import Policies
from brimful.records import SwitchingPlan, collect
from brimful.switching.loop import SwitchingLoop
from support import invented


def invented_run(directory):
    """The capacity of a switch with room for 20 addresses."""
    switch = ModelSwitch(room=20)
    plan = SwitchingPlan(
        test="caching",
        ports=switch.ports,
        rate=1000.0,
        patterns=["sequential", "random 1"],
        first=8,
        most=64,
        forgets=switch.forgets,
    )
    run = invented(
        "switching",
        "tester:p1,p2,p3",
        switching=plan,
        device={"name": "switch"},
    )
    records = []
    SwitchingLoop(plan, switch, Policies(), sink=records.append).run()
    return collect(directory, [run, *records])


class ModelSwitch:
    """Learns addresses as a bridge does, within limits, and forwards frames at once."""

    def __init__(
        self,
        *,
        room=10**6,
        evicts=False,
        learns=True,
        life_s=300.0,
        rate=None,
        bucket=1.0,
        blind=(),
        copies_to=None,
        longest=1522,
        shortest=0,
        flushes=True,
        ports=3,
        interrupt_at=None,
        foreign=0,
        flood_rate=None,
        silent=(),
        loses_one_of=0,
    ):
        self.ports = [f"p{number}" for number in range(1, ports + 1)]
        self.forgets = "flush" if flushes else ""
        self.room, self.evicts, self.learns, self.life_s = room, evicts, learns, life_s
        self.rate, self.bucket, self.blind, self.copies_to = rate, bucket, blind, copies_to
        self.longest, self.shortest, self.interrupt_at, self.foreign = longest, shortest, interrupt_at, foreign
        self.flood_rate, self.silent, self.loses_one_of = flood_rate, silent, loses_one_of
        self.table, self.tokens, self.filled_s = {}, bucket, 0.0
        self.flooded_s, self.to_last = -1.0, 0
        self.time_s, self.calls = 0.0, 0

    def describe(self):
        return Description(name="model", virtual_time=True, traffic={"ports": []}, device={"name": "model switch"})

    def now(self):
        return self.time_s

    def wait(self, seconds):
        self.time_s += seconds

    def close(self):
        pass

    def forget(self):
        self.table = {}

    def send(self, sequences, settle_s):
        self.calls += 1
        if self.calls == self.interrupt_at:
            raise KeyboardInterrupt
        (sequence,) = sequences
        begin_s, counts = self.time_s, [[0, 0] for _ in self.ports]
        for number in range(sequence.count):
            self.time_s = begin_s + number / sequence.rate
            source = sequence.sources[number % len(sequence.sources)]
            receiver = sequence.destinations[number % len(sequence.destinations)]
            if not self.shortest <= sequence.frame_size <= self.longest:
                continue
            self._learn(source, sequence.port)
            for port in self._ways(receiver, sequence.port):
                counts[port][0] += 1
        duration_s, self.time_s = self.time_s - begin_s, self.time_s + settle_s
        received = [
            Received(frames=frames, copies=copies, shortest=60, longest=60, delay_min_s=1e-6 if frames else None)
            for frames, copies in counts
        ]
        sent = Sent(port=sequence.port, sent=sequence.count, received=received, duration_s=duration_s)
        nothing = [0] * len(self.ports)
        foreign = [self.foreign, *nothing[1:]]
        return Exchange(sequences=[sent], damaged=nothing, foreign=foreign, dropped=nothing)

    def _learn(self, source, port):
        self.table = {one: place for one, place in self.table.items() if self.time_s - place[1] < self.life_s}
        if source in self.table:
            self.table.pop(source)
        elif not self.learns or not self._may_learn():
            return
        elif len(self.table) >= self.room:
            if not self.evicts:
                return
            self.table.pop(next(iter(self.table)), None)
        self.table[source] = (port, self.time_s)

    def _may_learn(self):
        if self.rate is None:
            return True
        self.tokens = min(self.bucket, self.tokens + (self.time_s - self.filled_s) * self.rate)
        self.filled_s = self.time_s
        if self.tokens < 1 - 1e-9:
            return False
        self.tokens -= 1
        return True

    def _ways(self, receiver, port):
        known = None if receiver == BROADCAST else self.table.get(receiver)
        if known is not None and self.time_s - known[1] < self.life_s:
            ways = {known[0]} - {port}
            return ways | ({self.copies_to} if self.copies_to is not None else set())
        others = set(range(len(self.ports))) - {port}
        return self._broadcast(others) if receiver == BROADCAST else others - set(self.blind)

    def _broadcast(self, ways):
        """Give the ports that get a broadcast; the last one, where floods have a rate, none that comes too soon."""
        last = len(self.ports) - 1
        self.to_last += 1
        is_lost = self.loses_one_of and self.to_last % self.loses_one_of == 0
        if self.flood_rate is not None:
            if self.time_s - self.flooded_s < 1 / self.flood_rate - 1e-9:
                is_lost = True
            else:
                self.flooded_s = self.time_s
        return ways - set(self.silent) - ({last} if is_lost else set())
