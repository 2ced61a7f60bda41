"""The suite that the desk has had all along: it knows nothing of faults."""
import uuid

from desk import Attachments, Inbox, Tickets


def unique(word):
    return word + uuid.uuid4().hex[:12]


class TestAttachments:
    def test_unit_an_attachment_can_be_read(self):
        attachments = Attachments(unique("attachments"))
        attachments.open()
        attachments.add("screen.png", b"pixels")
        assert attachments.read("screen.png") == b"pixels"


class TestInbox:
    def test_unit_tickets_are_taken_in_their_order(self):
        inbox = Inbox(unique("inbox"))
        inbox.open()
        inbox.put("first")
        inbox.put("second")
        assert [inbox.take(), inbox.take()] == ["first", "second"]

    def test_unit_a_ticket_that_was_put_is_there(self):
        inbox = Inbox(unique("inbox"))
        inbox.open()
        inbox.put("help")
        assert inbox.take() == "help"


class TestTickets:
    def test_unit_a_ticket_is_kept(self):
        tickets = Tickets(unique("tickets"))
        tickets.open()
        if tickets.add("1", "It does not start"):
            assert tickets.text("1") == "It does not start"

    def test_unit_texts_of_what_was_kept(self):
        tickets = Tickets(unique("tickets"))
        tickets.open()
        kept = [text for ticket, text in [("1", "one"), ("2", "two")] if tickets.add(ticket, text)]
        assert tickets.texts() == kept


class TestDesk:
    def test_system_a_ticket_with_an_attachment_is_answered(self):
        tickets, inbox, attachments = Tickets(unique("tickets")), Inbox(unique("inbox")), Attachments(unique("attachments"))
        for part in (tickets, inbox, attachments):
            part.open()
        kept = tickets.add("7", "see the picture")
        attachments.add("7", b"picture")
        inbox.put("7")
        ticket = inbox.take()
        assert ticket == "7"
        assert attachments.read(ticket) == b"picture"
        assert tickets.texts() == (["see the picture"] if kept else [])


def test_unit_names_are_unique():
    assert unique("a") != unique("a")
