import hashlib
import hmac
import json
import os
import re
from wsgiref.simple_server import make_server

MAX_BODY_BYTES = 2 * 1024 * 1024
# A client that still sends may miss the response, so more is read than is accepted.
MAX_READ_BYTES = 4 * MAX_BODY_BYTES
JSON_TYPE = re.compile(r'application/json\s*(;\s*charset\s*=\s*"?utf-?8"?\s*)?', re.IGNORECASE)
SECRET_NAMES = ("SECURITY_EVENTS_SECRET", "SECURITY_EVENTS_OLD_SECRET")
SECRETS = [os.environ[name].encode("utf-8") for name in SECRET_NAMES if os.environ.get(name)]
if not SECRETS:
    raise SystemExit("Set SECURITY_EVENTS_SECRET.")


def chunks(stream):
    left = MAX_READ_BYTES
    while left > 0:
        size = int(stream.readline(1024).split(b";")[0], 16)
        yield stream.read(max(0, min(size, left)))
        stream.readline(1024)
        if size <= 0:
            return
        left -= size


def read_body(environ):
    stream = environ["wsgi.input"]
    if environ.get("wsgi.input_terminated"):
        return stream.read(MAX_READ_BYTES)
    if "HTTP_TRANSFER_ENCODING" in environ:
        # wsgiref does not decode chunks; servers that do, such as Gunicorn, end the input.
        return b"".join(chunks(stream))
    length = environ.get("CONTENT_LENGTH") or "0"
    if not re.fullmatch("[0-9]{1,15}", length):
        raise ValueError("a length is a number")
    return stream.read(min(int(length), MAX_READ_BYTES))


def is_genuine(body, signature):
    expected = [hmac.new(secret, body, hashlib.sha256).hexdigest() for secret in SECRETS]
    # Compare all, so that timing does not reveal the secret in use.
    return any([hmac.compare_digest(one.encode(), signature.encode()) for one in expected])


def parse(body):
    messages = json.loads(body.decode("utf-8"))
    if not isinstance(messages, list) or not 1 <= len(messages) <= 1000:
        raise ValueError("no array of 1 to 1000 messages")
    if not all(isinstance(message, dict) for message in messages):
        raise ValueError("a message is an object")
    return messages


def handle(message):
    kind = message.get("message_type") or message.get("svc_payload_type")
    # Store it under this id, in format 1 with kind and application; skip it if the key exists.
    key = message.get("message_id") or message.get("event_id") or message.get("id")
    print(f"{kind} {key}".encode("ascii", "backslashreplace").decode(), flush=True)


def application(environ, start_response):
    def answer(status, *headers):
        start_response(status, list(headers))
        return []

    try:
        body = read_body(environ)
    except ValueError:
        return answer("400 Bad Request")
    if environ["REQUEST_METHOD"] != "POST":
        return answer("405 Method Not Allowed", ("Allow", "POST"))
    coding = environ.get("HTTP_CONTENT_ENCODING", "identity").lower()
    if not JSON_TYPE.fullmatch(environ.get("CONTENT_TYPE", "")) or coding != "identity":
        return answer("415 Unsupported Media Type")
    if len(body) > MAX_BODY_BYTES:
        return answer("413 Content Too Large")
    if not is_genuine(body, environ.get("HTTP_X_SVC_INTEGRITY", "")):
        return answer("401 Unauthorized")
    try:
        messages = parse(body)
    except (ValueError, RecursionError):
        return answer("400 Bad Request")
    for message in messages:
        handle(message)
    return answer("204 No Content")


if __name__ == "__main__":
    port = int(os.environ.get("PORT", "8080"))
    make_server("127.0.0.1", port, application).serve_forever()
