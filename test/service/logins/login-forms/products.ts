import type { LoginFixture } from './fixture.ts';

/** Logins that are built as those of well-known products are. */
export const products: LoginFixture[] = [
  {
    name: 'keycloak',
    html: `<div id="kc-header">ACME</div><h1 id="kc-page-title">Sign in to your account</h1><div id="kc-form"><form id="kc-form-login" action="/auth/realms/x/login-actions/authenticate" method="post"><div class="form-group"><label for="username">Username or email</label><input tabindex="1" id="username" name="username" value="" type="text" autofocus autocomplete="off"></div><div class="form-group"><label for="password">Password</label><input tabindex="2" id="password" name="password" type="password" autocomplete="off"></div><div><input id="rememberMe" type="checkbox"> Remember me <a href="x">Forgot Password?</a></div><input type="hidden" id="id-hidden-input" name="credentialId"><input tabindex="4" name="login" id="kc-login" type="submit" value="Sign In"></form></div><div>New user? <a href="/reg">Register</a></div><ul><li><a id="social-github" href="/auth/realms/x/broker/github/login?client_id=a"><span>GitHub</span></a></li></ul>`,
    fields: ['identifier: Username or email', 'password: Password'],
    choices: ['sso_provider: GitHub'],
  },
  {
    name: 'github like',
    html: `<header><a href="/">Home</a></header><main><h1>Sign in to GitHost</h1><form action="/session" method="post"><input type="hidden" name="authenticity_token"><label for="login_field">Username or email address</label><input type="text" name="login" id="login_field" autocomplete="username" required><div><label for="password">Password</label><input type="password" name="password" id="password" autocomplete="current-password" required><input type="hidden" name="webauthn-support"><input type="text" name="required_field_2e10" hidden><input type="hidden" name="timestamp"><input type="submit" name="commit" value="Sign in"><a href="/password_reset">Forgot password?</a></div></form><p>New to GitHost? <a href="/signup">Create an account</a></p><button>Sign in with a passkey</button></main><footer><form><label>Search <input name=q></label></form></footer>`,
    fields: ['identifier: Username or email address', 'password: Password'],
  },
  {
    name: 'google like',
    html: `<h1>Sign in</h1><div>Use your Account</div><form><div class="aCsJod"><div><input type="email" autocomplete="username webauthn" id="identifierId" name="identifier" aria-label="Email or phone"><div aria-hidden="true">Email or phone</div></div></div><button type="button">Forgot email?</button><div style="width:1px;height:1px;overflow:hidden"><input type="password" name="hiddenPassword" aria-hidden="true" tabindex="-1"></div></form><div><button><span>Next</span></button></div><div><button>Create account</button></div><select aria-label="Language"><option>English</option></select>`,
    fields: ['identifier: Email or phone'],
  },
  {
    name: 'microsoft like',
    html: `<div role="main"><div role="heading" aria-level="1">Sign in</div><div><input type="email" name="loginfmt" id="i0116" maxlength="113" placeholder="Email, phone, or Skype" aria-label="Enter your email, phone, or Skype."><input name="passwd" type="password" id="i0118" autocomplete="off" class="moveOffScreen" tabindex="-1" aria-hidden="true" style="position:fixed;top:-1000px"></div><div>No account? <a href="#">Create one!</a></div><a href="#">Can’t access your account?</a><input type="submit" id="idSIButton9" value="Next"></div><div role="button" tabindex="0"><div>Sign-in options</div></div>`,
    fields: ['identifier: Enter your email, phone, or Skype.'],
  },
  {
    name: 'wordpress de',
    html: `<html lang="de-DE"><form name="loginform" id="loginform"><p><label for="user_login">Benutzername oder E-Mail-Adresse</label><input type="text" name="log" id="user_login" autocomplete="username"></p><div class="user-pass-wrap"><label for="user_pass">Passwort</label><div><input type="password" name="pwd" id="user_pass" autocomplete="current-password"><button type="button" aria-label="Passwort anzeigen"><span></span></button></div></div><p><input name="rememberme" type="checkbox"> <label>Angemeldet bleiben</label></p><p><input type="submit" name="wp-submit" value="Anmelden"></p></form><p><a href="#">Passwort vergessen?</a></p><form><select name="wp_lang"><option>Deutsch</option></select><input type="submit" value="Ändern"></form></html>`,
    fields: ['identifier: Benutzername oder E-Mail-Adresse', 'password: Passwort'],
  },
  {
    name: 'ng material',
    html: `<mat-card><mat-form-field><div><div><input matinput formcontrolname="email" id="mat-input-0" aria-required="true"><span><label for="mat-input-0" id="mat-form-field-label-1"><mat-label>E-Mail</mat-label><span> *</span></label></span></div></div></mat-form-field><mat-form-field><input matinput type="password" id="mat-input-1"><label for="mat-input-1"><mat-label>Passwort</mat-label></label></mat-form-field><button mat-raised-button disabled><span>Einloggen</span></button></mat-card>`,
    fields: ['identifier: E-Mail', 'password: Passwort'],
  },
  {
    name: 'ionic',
    html: `<ion-content><ion-item><ion-label>Usuario</ion-label><ion-input name="usr"><input class="native-input" name="usr" type="text"></ion-input></ion-item><ion-item><ion-label>Clave</ion-label><ion-input type="password"><input class="native-input" type="password"></ion-input></ion-item><ion-button>Ingresar</ion-button></ion-content><script>customElements.define('ion-button', class extends HTMLElement { connectedCallback() { this.attachShadow({mode:'open'}).innerHTML = '<button type="button"><slot></slot></button>' } })</script>`,
    fields: ['identifier: Usuario', 'password: Clave'],
  },
  {
    name: 'bank jp',
    html: `<html lang="ja"><form><dl><dt>店番号</dt><dd><input maxlength="3" size="3"></dd><dt>口座番号</dt><dd><input maxlength="7"></dd><dt>ログインパスワード</dt><dd><input type="password"></dd></dl><a href="javascript:void(0)" onclick="x()">ログイン</a></form></html>`,
    fields: ['text: 店番号', 'identifier: 口座番号', 'password: ログインパスワード'],
  },
  {
    name: 'signup tab hidden',
    html: `<div class="tabs"><a href="#in">Sign in</a><a href="#up">Sign up</a></div><div id="in"><form><input type="email" placeholder="Email"><input type="password" placeholder="Password"><button>Sign in</button></form></div><div id="up" style="display:none"><form><input placeholder="Email"><input type="password" placeholder="Password"><button>Sign up</button></form></div>`,
    fields: ['identifier: Email', 'password: Password'],
  },
  {
    name: 'signup only',
    html: `<h1>Create your account</h1><form><input placeholder="Full name"><input type="email" placeholder="Email"><input type="password" placeholder="Password"><button>Create account</button></form><header><form><input placeholder="Username"><input type="password" placeholder="Password"><button>Log in</button></form></header>`,
    fields: ['identifier: Username', 'password: Password'],
  },
  {
    name: 'captcha text',
    html: `<form><label>User name<input name="u"></label><label>Password<input type=password></label><label>Enter the characters shown<img alt="" src="data:," width=100 height=30><input name="captcha"></label><button>Login</button></form>`,
    fields: ['identifier: User name', 'password: Password', 'text: Enter the characters shown'],
  },
  {
    name: 'ar',
    html: `<html lang="ar" dir="rtl"><h1>تسجيل الدخول</h1><div><label id="x">رقم الجوال</label><input type="tel" aria-labelledby="x"><label id="y">كلمة السر</label><input type="password" aria-labelledby="y"><div role="button" tabindex="0">دخول</div></div><div><input placeholder="اشترك في النشرة البريدية"><button>اشتراك</button></div></html>`,
    fields: ['identifier: رقم الجوال', 'password: كلمة السر'],
  },
  {
    name: 'sv personal number, sso',
    html: `<html lang="sv"><h1>Logga in</h1><button>Logga in med BankID</button><form><label for=p>Personnummer</label><input id=p placeholder="ÅÅÅÅMMDDXXXX" inputmode="numeric" maxlength="12"><label for=k>Personlig kod</label><input id=k type=password inputmode=numeric maxlength=4><button>Logga in</button></form></html>`,
    fields: ['identifier: Personnummer', 'password: Personlig kod'],
    choices: ['sso_provider: Logga in med BankID'],
  },
  {
    name: 'otp separate names',
    html: `<h1>Authentication</h1><p>We sent a code to your email a•••@x.org</p><form><div style="display:flex">${[0, 1, 2, 3].map((i) => `<input name="otp_${i}" maxlength="1" pattern="[0-9]" type="password" style="width:50px">`).join('')}</div></form>`,
    fields: ['code: Code'],
  },
  {
    name: 'mfa buttons en',
    html: `<h1>Verify your identity</h1><p>Select a method</p><div><a href="/f?m=push">Get a push notification</a></div><div><a href="/f?m=otp">Enter a code from your authenticator app</a></div><div><a href="/f?m=call">Call me at +1 •••-•••-1234</a></div><div><a href="/f?m=email">Email me a code</a></div><a href="/login">Back to sign in</a>`,
    fields: [],
    choices: [
      'mfa_method: Get a push notification',
      'mfa_method: Enter a code from your authenticator app',
      'mfa_method: Call me at +1 •••-•••-1234',
      'mfa_method: Email me a code',
    ],
  },
  {
    name: 'kmsi',
    html: `<div role="heading" aria-level="1">Stay signed in?</div><p>Do this to reduce the number of times you are asked to sign in.</p><label><input type=checkbox> Don't show this again</label><input type="button" value="No"><input type="submit" value="Yes">`,
    fields: [],
    choices: ['other: No', 'other: Yes'],
  },
  {
    name: 'consent',
    html: `<h1>Acme wants to access your account</h1><ul><li>Read your profile</li></ul><form><button>Cancel</button><button>Authorize Acme</button></form>`,
    fields: [],
    choices: ['other: Cancel', 'other: Authorize Acme'],
  },
  {
    name: 'push de',
    html: `<html lang="de"><h1>Anmeldung bestätigen</h1><p>Bitte bestätigen Sie die Anmeldung in der App auf Ihrem Smartphone.</p><button>Abbrechen</button><a href="#">Andere Methode wählen</a></html>`,
    fields: [],
    external: /in der App auf Ihrem Smartphone/,
    choices: ['auth_method: Andere Methode wählen'],
  },
  {
    name: 'push ja',
    html: `<html lang="ja"><h1>承認待ち</h1><p>スマートフォンで通知を確認し、承認してください。</p></html>`,
    fields: [],
    external: /スマートフォンで通知/,
  },
  {
    name: 'error red only',
    html: `<form><p style="color:#c00">Benutzername oder Passwort falsch.</p><input name=u placeholder="Benutzername"><input type=password placeholder="Passwort"><button>Anmelden</button></form>`,
    fields: ['identifier: Benutzername', 'password: Passwort'],
  },
  {
    name: 'error tied',
    html: `<form><label for=u>Email</label><input id=u aria-invalid="true" aria-describedby="m"><span id="m">We don't know this email</span><button>Continue to log in</button></form>`,
    fields: ['identifier: Email'],
    error: "We don't know this email",
  },
  {
    name: 'salesforce like',
    html: `<div id="login_form"><form name="login"><div><label for=username>Username</label><div><input class="input" type=email value="" name=username id=username></div></div><label for=password>Password</label><input type=password id=password name=pw autocomplete=off><input class="button" type=submit id=Login name=Login value="Log In"><div><a href=x>Use Custom Domain</a></div></form><button>Log In with a Different Provider</button></div>`,
    fields: ['identifier: Username', 'password: Password'],
    choices: ['sign_in_method: Log In with a Different Provider'],
  },
  {
    name: 'iframe tiny tracker',
    html: `<iframe width=1 height=1 srcdoc="<form><input name=email placeholder=Email><input type=password placeholder=Password><button>Login</button></form>"></iframe><form><label>Konto <input></label><label>Hasło<input type=password></label><button>Zaloguj</button></form>`,
    fields: ['identifier: Konto', 'password: Hasło'],
  },
  {
    name: 'phone then code',
    html: `<h2>Enter your mobile number</h2><div><select><option>+1</option></select><input type=tel inputmode=numeric placeholder="555 555 5555"></div><button>Send code</button>`,
    fields: ['identifier: 555 555 5555'],
  },
  {
    name: 'zh',
    html: `<html lang=zh><div class=box><a>密码登录</a><a>短信登录</a><input placeholder="请输入手机号或邮箱"><input type=password placeholder="请输入密码"><div style="cursor:pointer">登 录</div><span style="cursor:pointer">忘记密码</span><span style="cursor:pointer">立即注册</span></div></html>`,
    fields: ['identifier: 请输入手机号或邮箱', 'password: 请输入密码'],
  },
  {
    name: 'date of birth',
    html: `<form><label>Student number <input name=sn></label><label>Date of birth <input type=date name=dob></label><label>PIN <input type=password></label><button>Log on</button></form>`,
    fields: ['identifier: Student number', 'text: Date of birth', 'password: PIN'],
  },
  {
    name: 'bottom-up columns',
    html: `<style>.h{visibility:hidden}</style><form><div class=h><input type=email name=e></div><div style="transform:scale(0)"><input type=email name=e2></div><div style="clip-path:inset(50%)"><input name=e3 placeholder=Email></div><div><input name=e4 placeholder="Your mail"></div><div><input name=p4 type=password placeholder="Your password"></div><button>Go</button></form>`,
    fields: ['identifier: Your mail', 'password: Your password'],
  },
  {
    name: 'newsletter with consent first',
    html: `<section><h3>Stay in touch</h3><form><input type=email placeholder="Email address"><button>Sign me up</button></form></section><section><form><input type=email placeholder="Email address"><button>Continue</button></form><h3>Log in</h3></section>`,
    fields: ['identifier: Email address'],
  },
  {
    name: 'he',
    html: `<html lang=he dir=rtl><form><label for=a>תעודת זהות</label><input id=a inputmode=numeric maxlength=9><label for=b>קוד משתמש</label><input id=b><label for=c>סיסמה</label><input id=c type=password><button>כניסה</button></form></html>`,
    fields: ['text: תעודת זהות', 'identifier: קוד משתמש', 'password: סיסמה'],
  },
];
