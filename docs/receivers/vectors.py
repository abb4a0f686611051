import base64
import hashlib
import hmac
import json
import sys


def body_of(vector):
    if "body_repeat" in vector:
        rule = vector["body_repeat"]
        return rule["text"].encode("utf-8") * rule["times"]
    return base64.b64decode(vector["body_base64"])


def is_genuine(vector):
    secret = vector["secret"].encode("utf-8")
    if not secret:
        return False  # with an empty key anybody signs
    expected = hmac.new(secret, body_of(vector), hashlib.sha256).hexdigest()
    claimed = vector["signature"] or ""
    return hmac.compare_digest(expected.encode(), claimed.encode("utf-8"))


if len(sys.argv) != 2:
    print("usage: python3 vectors.py signatures.json", file=sys.stderr)
    sys.exit(2)
with open(sys.argv[1], encoding="utf-8") as file:
    vectors = json.load(file)
wrong = [vector["name"] for vector in vectors["valid"] if not is_genuine(vector)]
wrong += [vector["name"] for vector in vectors["invalid"] if is_genuine(vector)]
print(len(vectors["valid"]) + len(vectors["invalid"]), "vectors,", len(wrong), "wrong", *wrong)
sys.exit(1 if wrong else 0)
