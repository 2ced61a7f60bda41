"""A support desk in the cloud: tickets in DynamoDB, their attachments in blobs, and what is to be answered in a queue. DESK_BUGS
names the mistakes to make (README.md)."""
import base64
import os
import re
import time
import uuid

from cloud import Azure, CloudError, Dynamo, checked

BUGS = set(filter(None, os.environ.get("DESK_BUGS", "").split(",")))


class Attachments:
    """Files of a ticket. A name is given once."""

    def __init__(self, container):
        self.blobs = Azure(os.environ["BLOB_URL"])
        self.container = container

    def open(self):
        response = self.blobs.send("PUT", f"/{self.container}", {"restype": "container"})
        # It may be there: the first try may have made it.
        if response.status_code != 409:
            checked(response)

    def add(self, name, content):
        token = uuid.uuid4().hex
        path = f"/{self.container}/{name}"
        response = self.blobs.send("PUT", path, body=content,
                                   headers={"x-ms-blob-type": "BlockBlob", "If-None-Match": "*", "x-ms-meta-token": token})
        # The first try may have stored it, and only its answer was lost.
        if response.status_code == 409 and "conflict" not in BUGS:
            if self.blobs.send("HEAD", path).headers.get("x-ms-meta-token") == token:
                return
        checked(response)

    def read(self, name):
        return checked(self.blobs.send("GET", f"/{self.container}/{name}")).content


class Inbox:
    """Tickets that wait for an answer, in their order."""

    def __init__(self, name):
        self.queues = Azure(os.environ["QUEUE_URL"])
        # A message whose putting or taking got no answer would be put or taken again by another try.
        self.once = self.queues if "twice" in BUGS else Azure(os.environ["QUEUE_URL"], tries=1)
        self.name = name

    def open(self):
        checked(self.queues.send("PUT", f"/{self.name}"))

    def put(self, ticket):
        text = base64.b64encode(ticket.encode()).decode()
        checked(self.once.send("POST", f"/{self.name}/messages", body=f"<QueueMessage><MessageText>{text}</MessageText></QueueMessage>".encode()))

    def take(self):
        """The next ticket, or None."""
        answer = checked(self.once.send("GET", f"/{self.name}/messages", {"numofmessages": "1"})).text
        found = re.search("<MessageText>(.*?)</MessageText>", answer)
        return base64.b64decode(found[1]).decode() if found else None


class Tickets:
    """`known` has the numbers of the tickets in the table."""

    def __init__(self, table):
        self.dynamo = Dynamo()
        self.table = table
        self.known = []

    def open(self):
        response = self.dynamo.send("CreateTable", {
            "TableName": self.table, "AttributeDefinitions": [{"AttributeName": "ticket", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "ticket", "KeyType": "HASH"}], "BillingMode": "PAY_PER_REQUEST"})
        # It may be there: the first try may have made it.
        if "ResourceInUseException" not in response.text:
            checked(response)
        status = None
        while status != "ACTIVE":
            time.sleep(0.05)
            status = checked(self.dynamo.send("DescribeTable", {"TableName": self.table})).json()["Table"]["TableStatus"]

    def add(self, ticket, text):
        """False: it could not be kept."""
        if "optimist" in BUGS:
            self.known.append(ticket)
        try:
            checked(self.dynamo.send("PutItem", {"TableName": self.table, "Item": {"ticket": {"S": ticket}, "text": {"S": text}}}))
        except (CloudError, OSError):
            return False
        if ticket not in self.known:
            self.known.append(ticket)
        return True

    def text(self, ticket):
        response = self.dynamo.send("GetItem", {"TableName": self.table, "Key": {"ticket": {"S": ticket}}, "ConsistentRead": True})
        if "careless" not in BUGS:
            checked(response)
        return response.json()["Item"]["text"]["S"]

    def texts(self):
        return [self.text(ticket) for ticket in self.known]
