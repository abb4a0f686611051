import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

/** A self-signed certificate for `localhost` and 127.0.0.1, made by openssl for this run only. */
export function selfSignedCertificate(names = 'DNS:localhost,IP:127.0.0.1'): Certificate {
  const folder = mkdtempSync(path.join(tmpdir(), 'certificate-'));
  try {
    const key = path.join(folder, 'key.pem');
    const cert = path.join(folder, 'cert.pem');
    execFileSync(
      'openssl',
      [
        'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj'.split(
          ' ',
        ),
        ['/CN=localhost', '-addext', `subjectAltName=${names}`, '-keyout', key, '-out', cert],
      ].flat(),
      { stdio: 'ignore' },
    );
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
