import { generateKeyPairSync } from 'node:crypto';
import forge from 'node-forge';

const { pki } = forge;
const dayMs = 24 * 3600 * 1000;

/** The texts of PEM files. */
export type Pair = { cert: string; key: string };

/** A private certificate authority. */
export type Authority = { cert: string; issue: (names: { addresses?: string[]; hosts?: string[] }) => Pair };

export function makeAuthority(): Authority {
  const own = keys();
  const authority = certificate(own.publicKey, 'Test authority', 'Test authority');
  authority.setExtensions([
    { name: 'basicConstraints', cA: true, critical: true },
    { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    { name: 'subjectKeyIdentifier' },
  ]);
  authority.sign(own.privateKey, forge.md.sha256.create());
  return {
    cert: pki.certificateToPem(authority),
    issue({ addresses = [], hosts = [] }) {
      const { publicKey, privateKey } = keys();
      const issued = certificate(publicKey, 'Test service', 'Test authority');
      const altNames = [...addresses.map((ip) => ({ type: 7, ip })), ...hosts.map((value) => ({ type: 2, value }))];
      issued.setExtensions([
        { name: 'basicConstraints', cA: false },
        { name: 'extKeyUsage', serverAuth: true },
        { name: 'subjectAltName', altNames },
      ]);
      issued.sign(own.privateKey, forge.md.sha256.create());
      return { cert: pki.certificateToPem(issued), key: pki.privateKeyToPem(privateKey) };
    },
  };
}

function certificate(publicKey: forge.pki.PublicKey, subject: string, issuer: string): forge.pki.Certificate {
  const made = pki.createCertificate();
  made.publicKey = publicKey;
  // A positive number.
  made.serialNumber = `01${forge.util.bytesToHex(forge.random.getBytesSync(8))}`;
  made.validity.notBefore = new Date(Date.now() - dayMs);
  made.validity.notAfter = new Date(Date.now() + dayMs);
  made.setSubject([{ name: 'commonName', value: subject }]);
  made.setIssuer([{ name: 'commonName', value: issuer }]);
  return made;
}

/** Node makes them faster. */
function keys() {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  return { privateKey: pki.privateKeyFromPem(privateKey), publicKey: pki.publicKeyFromPem(publicKey) };
}
