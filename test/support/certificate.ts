/** Certificates for the servers of tests, for two days. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Makes a key and a certificate that signs itself.
 * @param name what it is for, such as DNS:localhost or IP:127.0.0.1
 */
export function makeCertificate(folder: string, name: string) {
  const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')] as const;
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const made = ['-keyout', keyFile, '-out', certFile, '-days', '2', '-subj', '/CN=server'];
  execFileSync('openssl', [...request, ...made, '-addext', `subjectAltName=${name}`], { stdio: 'ignore' });
  return { certFile, keyFile, tls: { key: readFileSync(keyFile), cert: readFileSync(certFile) } };
}
