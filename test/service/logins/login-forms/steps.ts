import type { LoginFixture } from './fixture.ts';

const boxes = (attributes: string) => `<div>${`<input ${attributes} style="width:40px;height:44px">`.repeat(6)}</div>`;

/** Questions that a login can ask after the first step, or instead of it. */
export const steps: LoginFixture[] = [
  {
    name: 'a code in six boxes',
    html: `<h1>Enter the code</h1><p>We texted it to (•••) •••-1234.</p><form>${boxes('maxlength="1" inputmode="numeric"')}<button>Verify</button></form>`,
    fields: ['code: Enter the code'],
  },
  {
    name: 'a code in six boxes that are numbered',
    html: `<form><h2>Verification code</h2><div>${[1, 2, 3, 4, 5, 6].map((digit) => `<input aria-label="Digit ${digit} of 6" type="tel" style="width:32px">`).join('')}</div><button>Continue</button></form>`,
    fields: ['code: Verification code'],
  },
  {
    name: 'a code of an authenticator app',
    html: `<h1>Two-factor authentication</h1><p>Open your authenticator app and enter the 6-digit code.</p><form><label>Code <input name="otp" autocomplete="one-time-code"></label><button>Verify</button></form><a href="/sms">Text me a code instead</a>`,
    fields: ['totp_code: Code'],
    choices: ['mfa_method: Text me a code instead'],
  },
  {
    name: 'one transparent input over six boxes',
    html: `<h1>Check your phone</h1><form style="position:relative"><div style="display:flex;gap:4px">${'<span style="width:30px;height:40px;border:1px solid"></span>'.repeat(6)}</div>
      <input autocomplete="one-time-code" inputmode="numeric" maxlength="6" style="position:absolute;inset:0;opacity:0"><button>Verify code</button></form>`,
    fields: ['code: Code'],
  },
  {
    name: 'radio buttons for the second factor',
    html: `<h1>How do you want to verify it's you?</h1><form><label><input type="radio" name="m" value="1"> Text message to •••• 42</label><label><input type="radio" name="m" value="2"> Email a•••@example.com</label><label><input type="radio" name="m"> Authenticator app</label><button>Continue</button></form>`,
    fields: [],
    choices: [
      'mfa_method: Text message to •••• 42',
      'mfa_method: Email a•••@example.com',
      'mfa_method: Authenticator app',
    ],
  },
  {
    name: 'a list of second factors in German',
    html: `<html lang="de"><h1>Bestätigen Sie Ihre Identität</h1><ul style="list-style:none"><li tabindex="0" style="cursor:pointer"><div>SMS senden</div><div>an +49 ••• ••17</div></li><li tabindex="0" style="cursor:pointer"><div>Anrufen</div><div>+49 ••• ••17</div></li></ul><a href="#">Andere Methode verwenden</a></html>`,
    fields: [],
    choices: ['mfa_method: SMS senden', 'mfa_method: Anrufen', 'auth_method: Andere Methode verwenden'],
  },
  {
    name: 'only buttons of providers',
    html: `<h1>Log in</h1><div><button><img alt="" src="data:,"> Continue with Google</button><a href="/auth/github">Sign in with GitHub</a><button aria-label="Sign in with Apple"><svg width="20" height="20"></svg></button><a href="/saml">Single sign-on (SSO)</a></div><footer><a href="https://www.facebook.com/acme">Facebook</a></footer>`,
    fields: [],
    choices: [
      'sso_provider: Continue with Google',
      'sso_provider: Sign in with GitHub',
      'sso_provider: Sign in with Apple',
      'sso_provider: Single sign-on (SSO)',
    ],
  },
  {
    name: 'a provider beside the fields, in French',
    html: `<html lang="fr"><form><label>Identifiant <input></label><label>Mot de passe <input type="password"></label><button>Connexion</button></form><p>ou</p><a href="/oauth/start?x=1">Se connecter avec Mairie Plus</a><a href="/inscription">S’inscrire avec Google</a></html>`,
    fields: ['identifier: Identifiant', 'password: Mot de passe'],
    choices: ['sso_provider: Se connecter avec Mairie Plus'],
  },
  {
    name: 'accounts to choose from',
    html: `<h1>Choose an account</h1><ul><li><button><div>Alice Liddell</div><div>alice@example.com</div></button></li><li><button><div>Bob</div><div>bob@example.com</div></button></li><li><button>Use another account</button></li></ul>`,
    fields: [],
    choices: ['account: Alice Liddell', 'account: Bob', 'account: Use another account'],
  },
  {
    name: 'an approval on the phone',
    html: `<h1>Approve the sign-in on your phone</h1><p>Open the Acme app and tap the number below.</p><strong>42</strong><p><a href="#other">Try another way</a></p>`,
    fields: [],
    choices: ['auth_method: Try another way'],
    external: /Approve the sign-in on your phone.*42/,
  },
  {
    name: 'a link by mail, in Spanish',
    html: `<html lang="es"><h1>Revisa tu correo</h1><p>Te hemos enviado un enlace de acceso.</p></html>`,
    fields: [],
    external: /Revisa tu correo/,
  },
  {
    name: 'an error beside the fields',
    html: `<form><div class="form-error">The password is wrong. Try again.</div><label>Email <input type="email"></label><label>Password <input type="password" aria-invalid="true"></label><button>Log in</button></form>`,
    fields: ['identifier: Email', 'password: Password'],
    error: 'The password is wrong. Try again.',
  },
];
