<?php

declare(strict_types=1);

const MAX_BODY_BYTES = 2 * 1024 * 1024;
/** JSON may have lone surrogates (`\ud800`), which json_decode refuses. */
const ESCAPE = '~\\\\(?:(ud[89ab][0-9a-f]{2}\\\\ud[c-f][0-9a-f]{2})|(ud[89a-f][0-9a-f]{2})|.)~is';
const JSON_TYPE = '~^application/json\s*(;\s*charset\s*=\s*"?utf-?8"?\s*)?$~iD';

function answer(int $status): never
{
    http_response_code($status);
    exit;
}

function isGenuine(string $body, string $signature): bool
{
    $isGenuine = false;
    foreach (['SECURITY_EVENTS_SECRET', 'SECURITY_EVENTS_OLD_SECRET'] as $name) {
        $secret = (string) getenv($name);
        if ($secret === '') {
            continue;
        }
        // Compare all, so that timing does not reveal the secret in use.
        $isThisOne = hash_equals(hash_hmac('sha256', $body, $secret), $signature);
        $isGenuine = $isGenuine || $isThisOne;
    }
    return $isGenuine;
}

/** @return list<array<string, mixed>> */
function parse(string $body): array
{
    $whole = fn (array $found): string => isset($found[2]) ? '\ufffd' : $found[0];
    $text = (string) preg_replace_callback(ESCAPE, $whole, $body);
    $messages = json_decode($text, true, 1024, JSON_THROW_ON_ERROR);
    // An object with the key 0 becomes a list, too.
    $isList = preg_match('~^\s*\[~', $text) === 1 && array_is_list($messages);
    if (!$isList || $messages === [] || count($messages) > 1000) {
        throw new JsonException('no array of 1 to 1000 messages');
    }
    foreach ($messages as $message) {
        // An object is an array here, too, and an empty one is a list.
        if (!is_array($message) || (array_is_list($message) && $message !== [])) {
            throw new JsonException('a message is an object');
        }
    }
    return $messages;
}

/** @param array<string, mixed> $message */
function handle(array $message): void
{
    $kind = $message['message_type'] ?? $message['svc_payload_type'] ?? '';
    // Store it under this id, in format 1 with kind and application; skip it if the key exists.
    $id = $message['message_id'] ?? $message['event_id'] ?? $message['id'] ?? '';
    error_log("$kind $id");
}

if (getenv('SECURITY_EVENTS_SECRET') . getenv('SECURITY_EVENTS_OLD_SECRET') === '') {
    error_log('Set SECURITY_EVENTS_SECRET.');
    answer(500);
}
if ($_SERVER['REQUEST_METHOD'] !== 'POST') {
    header('Allow: POST');
    answer(405);
}
$coding = strtolower($_SERVER['HTTP_CONTENT_ENCODING'] ?? 'identity');
if (preg_match(JSON_TYPE, $_SERVER['CONTENT_TYPE'] ?? '') !== 1 || $coding !== 'identity') {
    answer(415);
}
$body = (string) file_get_contents('php://input', false, null, 0, MAX_BODY_BYTES + 1);
if (strlen($body) > MAX_BODY_BYTES) {
    answer(413);
}
if (!isGenuine($body, $_SERVER['HTTP_X_SVC_INTEGRITY'] ?? '')) {
    answer(401);
}
try {
    $messages = parse($body);
} catch (JsonException) {
    answer(400);
}
array_map('handle', $messages);
answer(204);
