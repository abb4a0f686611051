require "json"
require "openssl"

class SecurityEvents
  MAX_BODY_BYTES = 2 * 1024 * 1024
  JSON_TYPE = %r{\Aapplication/json\s*(;\s*charset\s*=\s*"?utf-?8"?\s*)?\z}i
  # JSON may have lone surrogates (`\ud800`), which JSON.parse refuses.
  ESCAPE = /\\(?:(u[dD][89abAB]\h{2}\\u[dD][c-fC-F]\h{2})|(u[dD][89a-fA-F]\h{2})|.)/m
  SECRETS = ENV.values_at("SECURITY_EVENTS_SECRET", "SECURITY_EVENTS_OLD_SECRET")
               .reject { |secret| secret.to_s.empty? }
  abort "Set SECURITY_EVENTS_SECRET." if SECRETS.empty?

  def call(env)
    return answer(405, "allow" => "POST") unless env["REQUEST_METHOD"] == "POST"
    return answer(415) unless json?(env)

    body = env["rack.input"]&.read(MAX_BODY_BYTES + 1).to_s
    return answer(413) if body.bytesize > MAX_BODY_BYTES
    return answer(401) unless genuine?(body, env["HTTP_X_SVC_INTEGRITY"].to_s)

    messages = parse(body)
    return answer(400) if messages.nil?

    messages.each { |message| handle(message) }
    answer(204)
  end

  private

  def answer(status, headers = {})
    [status, headers, []]
  end

  def json?(env)
    JSON_TYPE.match?(env["CONTENT_TYPE"].to_s) &&
      env.fetch("HTTP_CONTENT_ENCODING", "identity").casecmp?("identity")
  end

  def genuine?(body, signature)
    expected = SECRETS.map { |secret| OpenSSL::HMAC.hexdigest("SHA256", secret, body) }
    # Compare all, so that timing does not reveal the secret in use.
    expected.map { |one| OpenSSL.secure_compare(one, signature) }.any?
  end

  def parse(body)
    text = body.dup.force_encoding(Encoding::UTF_8)
    return nil unless text.valid_encoding?

    whole = text.gsub(ESCAPE) { $2 ? '\ufffd' : $& }
    messages = JSON.parse(whole, max_nesting: 1024)
    return nil unless messages.is_a?(Array) && messages.length.between?(1, 1000)

    messages if messages.all?(Hash)
  rescue JSON::ParserError
    nil
  end

  def handle(message)
    kind = message["message_type"] || message["svc_payload_type"]
    # Store it under this id, in format 1 with kind and application; skip it if the key exists.
    id = message["message_id"] || message["event_id"] || message["id"]
    $stdout.puts "#{kind} #{id}"
    $stdout.flush
  end
end

run SecurityEvents.new
