"""The tickets of the web service, and the store.

A ticket has a number that no other one ever gets. Under one lock it is served, or cancelled, or gone with a reset: exactly one of
them, once. So it does no harm that the queue hands out a ticket twice, or one whose request was told that nothing happened.
"""
import sqlite3
import threading


class Ticket:
    def __init__(self, number, work):
        self.number, self.work = number, work
        self.done = threading.Event()
        self.index = None  # where its work was stored, when it is done; None after a reset


class Tickets:
    def __init__(self):
        self.lock = threading.Lock()
        self.waiting = {}  # {number: ticket}
        self.given = 0  # how many tickets there were, ever
        self.stored = 0
        self.store = sqlite3.connect(":memory:", check_same_thread=False)
        self.store.execute("CREATE TABLE work (number INTEGER PRIMARY KEY, bytes BLOB NOT NULL)")

    def take(self, work):
        with self.lock:
            ticket = Ticket(self.given, work)
            self.given += 1
            self.waiting[ticket.number] = ticket
            return ticket

    def cancel(self, ticket):
        """Whether the ticket will never be served."""
        with self.lock:
            return self.waiting.pop(ticket.number, None) is not None

    def serve(self, number, work):
        """Stores the work of a ticket that waits, and nothing for any other."""
        with self.lock:
            ticket = self.waiting.pop(number, None)
            if ticket is None:
                return
            self.store.execute("INSERT INTO work VALUES (?, ?)", (self.stored, work))
            ticket.index = self.stored
            self.stored += 1
            ticket.done.set()

    def read(self, index):
        """The bytes, or None."""
        with self.lock:
            row = self.store.execute("SELECT bytes FROM work WHERE number = ?", (index,)).fetchone()
            return None if row is None else row[0]

    def reset(self):
        with self.lock:
            for ticket in self.waiting.values():
                ticket.done.set()
            self.waiting.clear()
            self.store.execute("DELETE FROM work")
            self.stored = 0
