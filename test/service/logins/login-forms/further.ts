import type { LoginFixture } from './fixture.ts';

const lang = (name: string, user: string, password: string, button: string): LoginFixture => ({
  name,
  html: `<form><p>${user}</p><input><p>${password}</p><input type="password"><button>${button}</button></form>`,
  fields: [`identifier: ${user}`, `password: ${password}`],
});

/** Forms that were written after discovery worked on the others, to see whether its rules hold. */
export const further: LoginFixture[] = [
  lang('el', 'Όνομα χρήστη', 'Κωδικός πρόσβασης', 'Σύνδεση'),
  lang('th', 'ชื่อผู้ใช้', 'รหัสผ่าน', 'เข้าสู่ระบบ'),
  lang('vi', 'Tên đăng nhập', 'Mật khẩu', 'Đăng nhập'),
  lang('id', 'Nama pengguna', 'Kata sandi', 'Masuk'),
  lang('cs', 'Uživatelské jméno', 'Heslo', 'Přihlásit se'),
  lang('hu', 'Felhasználónév', 'Jelszó', 'Bejelentkezés'),
  lang('ro', 'Nume de utilizator', 'Parolă', 'Autentificare'),
  lang('uk', 'Ім’я користувача', 'Пароль', 'Увійти'),
  lang('da', 'Brugernavn', 'Adgangskode', 'Log ind'),
  lang('fi', 'Käyttäjätunnus', 'Salasana', 'Kirjaudu'),
  lang('nl', 'Gebruikersnaam', 'Wachtwoord', 'Inloggen'),
  lang('fa', 'نام کاربری', 'رمز عبور', 'ورود'),
  lang('it', 'Nome utente', 'Password', 'Accedi'),
  {
    name: 'ja company',
    html: `<form><table><tr><th>会社コード</th><td><input></td></tr><tr><th>ユーザーID</th><td><input></td></tr><tr><th>パスワード</th><td><input type=password></td></tr></table><input type=submit value="ログイン"></form>`,
    fields: ['text: 会社コード', 'identifier: ユーザーID', 'password: パスワード'],
  },
  {
    name: 'behind',
    html: `<div style="position:relative;background:#fff;padding:10px"><form style="background:#eee;position:relative;z-index:0"><input name="email" placeholder="Email" style="position:absolute;z-index:-1;left:20px;top:20px"><div style="background:#fff;position:relative;height:60px">Hi</div><input placeholder="E-mail"><input type=password placeholder="Password"><button>OK</button></form></div>`,
    fields: ['identifier: E-mail', 'password: Password'],
  },
  {
    name: 'ja signup first',
    html: `<div><h2>はじめての方</h2><form><input placeholder="メールアドレス"><input type=password placeholder="パスワード"><button>会員登録する</button></form></div><div><h2>会員の方</h2><form><input placeholder="会員ID"><input type=password placeholder="パスワード"><button>ログインする</button></form></div>`,
    fields: ['identifier: 会員ID', 'password: パスワード'],
  },
  {
    name: 'shadow in iframe',
    html: `<iframe width=500 height=300 srcdoc="<div id=h></div><script>h.attachShadow({mode:'closed'}).innerHTML='<form><label>User name<input></label><label>Password<input type=password></label><button>Log in</button></form>'</script>"></iframe>`,
    fields: ['identifier: User name', 'password: Password'],
  },
  {
    name: 'iframe in shadow',
    html: `<div id=h></div><script>const r=h.attachShadow({mode:'open'});r.innerHTML='<iframe width=500 height=300></iframe>';r.firstChild.srcdoc='<form><label>User name<input></label><label>Password<input type=password></label><button>Log in</button></form>'</script>`,
    fields: ['identifier: User name', 'password: Password'],
  },
  {
    name: 'iframe late cross',
    html: `<div id=x></div><script>setTimeout(()=>{x.innerHTML='<iframe width=500 height=300 src="{{other}}"></iframe>'},1000)</script>`,
    frame: `<form><label>User name<input></label><label>Password<input type=password></label><button>Log in</button></form>`,
    fields: ['identifier: User name', 'password: Password'],
  },
  {
    name: 'two forms go',
    html: `<form><input placeholder="Name"><input placeholder="Email"><input type=password placeholder="Password"><input type=password placeholder="Password again"><button>Go</button></form><form><input placeholder="Email"><input type=password placeholder="Password"><button>Go</button></form>`,
    fields: ['identifier: Email', 'password: Password'],
  },
  {
    name: 'user select',
    html: `<h1>Station login</h1><form><label>User <select required><option value="">Choose…</option><option>Ann</option><option>Ben</option></select></label><label>PIN <input type=password inputmode=numeric></label><button>Log in</button></form>`,
    fields: ['identifier: User', 'password: PIN'],
  },
  {
    name: 'combobox username',
    html: `<form><div role=combobox><input role="combobox" aria-label="Username" aria-autocomplete="list"></div><input type=password aria-label="Password"><button>Sign in</button></form>`,
    fields: ['identifier: Username', 'password: Password'],
  },
  {
    name: 'es code',
    html: `<html lang=es><h1>Verificación en dos pasos</h1><p>Introduce el código que te hemos enviado por SMS al número ***12</p><form><input name=c1><button>Verificar</button></form></html>`,
    fields: ['code: Code'],
  },
  {
    name: 'fr code boxes',
    html: `<html lang=fr><h1>Saisissez le code reçu par e-mail</h1>${'<input maxlength=1 style="width:36px">'.repeat(6)}<button>Valider</button></html>`,
    fields: ['code: Saisissez le code reçu par e-mail'],
  },
  {
    name: 'zh code',
    html: `<html lang=zh><h1>安全验证</h1><p>验证码已发送至 138****1234</p><input placeholder="请输入6位验证码"><button>重新发送</button><button>确定</button></html>`,
    fields: ['code: 请输入6位验证码'],
  },
  {
    name: 'totp ja',
    html: `<html lang=ja><h1>2段階認証</h1><p>認証アプリに表示されている6桁のコードを入力してください。</p><form><input name=token inputmode=numeric><button>確認</button></form></html>`,
    fields: ['totp_code: Code'],
  },
  {
    name: 'ar email code',
    html: `<html lang=ar dir=rtl><p>أدخل الرمز المرسل إلى a•••@x.org</p><form><input maxlength=6 inputmode=numeric><button>متابعة</button></form></html>`,
    fields: ['code: Code'],
  },
  {
    name: 'recover link',
    html: `<h1>Backup code</h1><p>Enter one of your backup codes</p><input><button>Verify</button><a href=#>Use authenticator app instead</a><a href=#>Contact support by email</a>`,
    fields: ['code: Enter one of your backup codes'],
    choices: ['mfa_method: Use authenticator app instead'],
  },
  {
    name: 'mfa ja radios',
    html: `<html lang=ja><h1>本人確認の方法を選択</h1><form><div><input type=radio name=m id=a><label for=a>SMSで受け取る（***-****-1234）</label></div><div><input type=radio name=m id=b><label for=b>メールで受け取る（a***@example.jp）</label></div><button>次へ</button></form></html>`,
    fields: [],
    choices: ['mfa_method: SMSで受け取る（***-****-1234）', 'mfa_method: メールで受け取る（a***@example.jp）'],
  },
  {
    name: 'account picker ar',
    html: `<html lang=ar dir=rtl><h1>اختر حسابًا</h1><div role=button tabindex=0><div>علي</div><div>ali@example.com</div></div><div role=button tabindex=0>استخدام حساب آخر</div></html>`,
    fields: [],
    choices: ['account: علي', 'account: استخدام حساب آخر'],
  },
  {
    name: 'org picker',
    html: `<h1>Select your organization</h1><ul><li><a href="/o/1">Acme</a></li><li><a href="/o/2">Globex</a></li></ul>`,
    fields: [],
    choices: ['account: Acme', 'account: Globex'],
  },
  {
    name: 'icons only sso',
    html: `<form><label>Email<input></label><label>Password<input type=password></label><button>Log in</button></form><div><a href="/auth/google" title="Google"><svg width=20 height=20></svg></a><a href="/auth/facebook" aria-label="Facebook"><svg width=20 height=20></svg></a></div><div class=follow>Follow us: <a href="https://twitter.com/acme">Twitter</a></div>`,
    fields: ['identifier: Email', 'password: Password'],
    choices: ['sso_provider: Google', 'sso_provider: Facebook'],
  },
  {
    name: 'ja line',
    html: `<html lang=ja><h1>ログイン</h1><button>LINEでログイン</button><button>Yahoo! JAPAN IDでログイン</button><form><input type=email placeholder="メールアドレス"><input type=password placeholder="パスワード"><button>ログイン</button></form><button>新規会員登録</button></html>`,
    fields: ['identifier: メールアドレス', 'password: パスワード'],
    choices: ['sso_provider: LINEでログイン', 'sso_provider: Yahoo! JAPAN IDでログイン'],
  },
  {
    name: 'bootstrap de',
    html: `<html lang=de><nav><form class="d-flex"><input class="form-control" type="search" placeholder="Suche" aria-label="Suche"><button class="btn">Suche</button></form></nav><div class="card"><div class="card-body"><h5>Kundenlogin</h5><form class="needs-validation"><div class="mb-3"><label class="form-label" for="kd">Kundennummer</label><input class="form-control" id="kd" required></div><div class="mb-3"><label class="form-label" for="pw">PIN / Passwort</label><input type="password" class="form-control" id="pw" required><div class="invalid-feedback" style="display:none">Bitte eingeben</div></div><div class="form-check"><input type=checkbox id=c><label for=c>Angemeldet bleiben</label></div><button class="btn btn-primary">Anmelden</button></form><a href="/pw">Passwort vergessen?</a></div></div></html>`,
    fields: ['identifier: Kundennummer', 'password: PIN / Passwort'],
  },
  {
    name: 'aria only roles',
    html: `<div role="form" aria-labelledby="t"><div id="t" role="heading" aria-level="2">Member area</div><span role="textbox" contenteditable="true" aria-label="Member ID" style="display:block;border:1px solid;width:200px;height:20px"></span><input aria-label="Access phrase" type="password"><a role="button" href="#">Enter</a></div>`,
    fields: ['identifier: Member ID', 'password: Access phrase'],
  },
  {
    name: 'hebrew code',
    html: `<html lang=he dir=rtl><h1>אימות דו-שלבי</h1><p>שלחנו קוד לטלפון שמסתיים ב-42</p><form><input id=c1><button>אישור</button></form><a href=#>שלח שוב</a></html>`,
    fields: ['code: Code'],
  },
  {
    name: 'korean mfa',
    html: `<html lang=ko><h1>2단계 인증</h1><p>휴대폰으로 전송된 인증번호 6자리를 입력하세요</p><input maxlength=6><button>확인</button></html>`,
    fields: ['code: 휴대폰으로 전송된 인증번호 6자리를 입력하세요'],
  },
  {
    name: 'ru two step',
    html: `<html lang=ru><h1>Вход</h1><form><input name=q1 placeholder="Телефон или почта"><button>Далее</button></form><div>Подпишитесь на рассылку <input placeholder="Почта"><button>Подписаться</button></div></html>`,
    fields: ['identifier: Телефон или почта'],
  },
  {
    name: 'pt company sso',
    html: `<html lang=pt><h1>Acesse sua conta</h1><form><label>CPF<input name=cpf inputmode=numeric maxlength=14></label><label>Senha<input type=password></label><button>Entrar</button></form><button>Entrar com Google</button><button>Continuar com SSO</button></html>`,
    fields: ['identifier: CPF', 'password: Senha'],
    choices: ['sso_provider: Entrar com Google', 'sso_provider: Continuar com SSO'],
  },
  {
    name: 'slots',
    html: `<auth-card><input slot="user" placeholder="User"><input slot="pass" type="password" placeholder="Pass"><button slot="go">Go</button></auth-card><script>document.querySelector('auth-card').attachShadow({mode:'closed'}).innerHTML='<section><h2>Login</h2><slot name=user></slot><slot name=pass></slot><slot name=go></slot></section>'</script>`,
    fields: ['identifier: User', 'password: Pass'],
  },
  {
    name: 'label in other tree',
    html: `<p-label for="pu">E-Mail-Adresse</p-label><p-input id="pu"></p-input><p-label>Passwort</p-label><p-input type="password"></p-input><p-button role="button" tabindex="0" style="display:block">Login</p-button><script>customElements.define('p-input', class extends HTMLElement { connectedCallback(){ this.attachShadow({mode:'open'}).innerHTML='<input type="'+(this.getAttribute('type')||'text')+'">' } })</script>`,
    fields: ['identifier: E-Mail-Adresse', 'password: Passwort'],
  },
  {
    name: 'disabled pw until email',
    html: `<form><label>Email<input type=email oninput="p.disabled=!this.value"></label><label>Password<input id=p type=password></label><button disabled>Sign in</button></form>`,
    fields: ['identifier: Email', 'password: Password'],
  },
  {
    name: 'account + change language buttons',
    html: `<button>English</button><button>Deutsch</button><h1>Sign in</h1><div class="field"><span class="lbl">Login</span><span class="inp"><input></span></div><div class="field"><span class="lbl">Password</span><span class="inp"><input type="password"></span></div><span class="btn" onclick="1">Sign in</span>`,
    fields: ['identifier: Login', 'password: Password'],
  },
  {
    name: 'contact form beside',
    html: `<section><h2>Contact us</h2><form><input placeholder="Your name"><input type=email placeholder="Your e-mail"><textarea placeholder="Message"></textarea><button>Send</button></form></section><section><h2>Customer portal</h2><form><input placeholder="Contract no."><input type=password placeholder="Online key"><button>To the portal</button></form></section>`,
    fields: ['identifier: Contract no.', 'password: Online key'],
  },
  {
    name: 'passwordless',
    html: `<h1>Welcome back</h1><p>Enter your email and we'll send you a login link.</p><form><input type=email placeholder="name@work.com"><button>Email me a link</button></form>`,
    fields: ['identifier: name@work.com'],
  },
  {
    name: 'magic sent',
    html: `<h1>Check your inbox</h1><p>We sent a login link to your address.</p><button>Resend email</button><a href=/login>Back to login</a>`,
    fields: [],
    external: /Check your inbox/,
  },
  {
    name: 'webauthn page',
    html: `<h1>Use your security key</h1><p>Insert your security key and touch it.</p><button>Cancel</button><a href=#>Use a different method</a>`,
    fields: [],
    external: /security key/,
    choices: ['auth_method: Use a different method'],
  },
  {
    name: 'choices with desc',
    html: `<h1>Choose how to confirm it's you</h1><div role=listbox><div role=option tabindex=0><b>Authenticator app</b><p>Get a code from your app</p></div><div role=option tabindex=0><b>Text message</b><p>(•••) •••-••42</p></div><div role=option tabindex=0><b>Voice call</b><p>(•••) •••-••42</p></div></div>`,
    fields: [],
    choices: ['mfa_method: Authenticator app', 'mfa_method: Text message', 'mfa_method: Voice call'],
  },
  {
    name: 'toast',
    html: `<div class="toast toast--error" role="status">Unknown account</div><form><input placeholder="Login"><button>Continue</button></form>`,
    fields: ['identifier: Login'],
    error: 'Unknown account',
  },
  {
    name: 'trap with words',
    html: `<form><input name="fax_number" style="position:fixed;left:-500px"><input name="confirm_email" class="x" style="width:1px;height:1px;border:0;padding:0"><input name=a placeholder="Konto-ID"><input name=b placeholder="Geheimzahl" type=password><button>Start</button></form>`,
    fields: ['identifier: Konto-ID', 'password: Geheimzahl'],
  },
  {
    name: 'autocomplete text only',
    html: `<form><input type="text" autocomplete="username"><input type="text" autocomplete="current-password"><button>…</button></form>`,
    fields: ['identifier: Username', 'password: Password'],
  },
  {
    name: 'german unmasked',
    html: `<form><label for=a>Zugangsnummer</label><input id=a><label for=b>Kennwort</label><input id=b type=text><button>Weiter</button></form>`,
    fields: ['identifier: Zugangsnummer', 'password: Kennwort'],
  },
  {
    name: 'arabic nested',
    html: `<html dir=rtl lang=ar><form><label>البريد الإلكتروني<input type=text></label><label>كلمة المرور<input type=password></label><label><input type=checkbox> تذكرني</label><input type=submit value="دخول"><a href="#">نسيت كلمة المرور؟</a></form><form><label>البريد الإلكتروني<input type=text></label><input type=submit value="اشترك"></form></html>`,
    fields: ['identifier: البريد الإلكتروني', 'password: كلمة المرور'],
  },
  {
    name: 'jp table notes',
    html: `<html lang=ja><form><table><tr><th>お客様番号<br><small>（半角数字）</small></th><td><input maxlength=10></td></tr><tr><th>暗証番号</th><td><input type=password maxlength=4 inputmode=numeric></td></tr></table><p><input type=image alt="ログイン" src="data:," width=80 height=20></p></form></html>`,
    fields: ['identifier: お客様番号 （半角数字）', 'password: 暗証番号'],
  },
  {
    name: 'css class honeypots',
    html: `<style>.a1{display:none}.a2{position:absolute;top:-5000px}.a3{opacity:0;height:0}.a4{visibility:collapse}.a5{transform:translateX(-200vw)}</style><form><input class=a1 name=username><input class=a2 name=user_email><input class=a3 name=login><input class=a4 name=mail><input class=a5 name=usr><input name=k1 aria-label="Your login"><input name=k2 type=password aria-label="Your password"><input name=password class=a2 type=password><button>Sign in</button></form>`,
    fields: ['identifier: Your login', 'password: Your password'],
  },
  {
    name: 'iframe first step cross',
    html: `<p>Please identify</p><iframe style="border:5px solid;width:420px;height:260px" src="{{other}}"></iframe>`,
    frame: `<h2>Sign in</h2><div><input placeholder="Email address"><div role=button tabindex=0>Next</div></div>`,
    fields: ['identifier: Email address'],
  },
  {
    name: 'signup same shape first',
    html: `<main><form id="f1"><input placeholder="Email"><input type=password placeholder="Password"><button>Sign up</button></form><p>Already a member?</p><form id="f2"><input placeholder="Email"><input type=password placeholder="Password"><button>Log in</button></form></main>`,
    fields: ['identifier: Email', 'password: Password'],
  },
  {
    name: 'deep shadow',
    html: `<a-a></a-a><script>const mk=(h,d)=>{const r=h.attachShadow({mode:d%2?'closed':'open'});if(d===0){r.innerHTML='<label for=u>User</label><input id=u><label for=p>Password</label><input id=p type=password><button>Log in</button>'}else{const c=document.createElement('b-'+d);r.append(c);mk(c,d-1)}};mk(document.querySelector('a-a'),4)</script>`,
    fields: ['identifier: User', 'password: Password'],
  },
  {
    name: 'labelled by ids across',
    html: `<div id=lu>Operator code</div><div id=lp>Key</div><form><input aria-labelledby=lu><input aria-labelledby=lp type=password><button aria-label="Log in">➜</button></form>`,
    fields: ['identifier: Operator code', 'password: Key'],
  },
  {
    name: 'title attr',
    html: `<form><input title="User name"><input type=password title="Password"><input type=button value="Login"></form>`,
    fields: ['identifier: User name', 'password: Password'],
  },
  {
    name: 'fieldset div buttons',
    html: `<fieldset><legend>Staff login</legend><p>Badge</p><div><input></div><p>Secret</p><div><input type=password></div><div class=button tabindex=0 style="cursor:pointer">Go</div></fieldset><div>Search staff <input></div>`,
    fields: ['identifier: Badge', 'password: Secret'],
  },
  {
    name: 'many pw reveal icons',
    html: `<div class=l><div class=i><i style="cursor:pointer">👤</i><input placeholder=" "><label>Nutzer</label></div><div class=i><input type=password placeholder=" "><label>Passwort</label><i style="cursor:pointer">👁</i></div><a class=btn href="#" onclick="return false">Einloggen</a></div>`,
    fields: ['identifier: Nutzer', 'password: Passwort'],
  },
  {
    name: 'late swap skeleton',
    html: `<div id=r><form><input disabled placeholder="Loading"><button disabled>Loading</button></form></div><script>setTimeout(()=>{r.innerHTML='<form><input placeholder=Username><input type=password placeholder=Password><button>Login</button></form>'},1500)</script>`,
    fields: ['identifier: Username', 'password: Password'],
  },
  {
    name: 'code 3-3',
    html: `<h1>Enter confirmation code</h1><div>${'<input maxlength=1 style="width:30px">'.repeat(3)} - ${'<input maxlength=1 style="width:30px">'.repeat(3)}</div><button>Confirm</button>`,
    fields: ['code: Enter confirmation code'],
  },
  {
    name: 'two identifiers or',
    html: `<form><label>Email or username<input name=a></label><label>Password<input type=password></label><label>One-time code (optional)<input name=otp></label><button>Log in</button></form>`,
    fields: ['identifier: Email or username', 'password: Password', 'code: One-time code (optional)'],
  },
];
