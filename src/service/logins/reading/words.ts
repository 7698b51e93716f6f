/** The subjects that a word on a login page can be about, such as a password. */
export type Subject = keyof typeof vocabulary;

/**
 * Whether a text has a word about the subject, in any of the languages below. Words are the weakest evidence: use them
 * only if the page's structure gives no answer.
 */
export function isAbout(subject: Subject, ...texts: (string | undefined)[]): boolean {
  const { latin, spaced, unspaced } = patterns[subject];
  return texts.some((text) => {
    if (text === undefined || text === '') return false;
    const said = plain(text);
    return latin.test(said) || (isNotAscii.test(said) && (spaced.test(said) || unspaced.test(said)));
  });
}

/** Normalizes a text: lower case, no accents, basic letters, and the parts of `camelCase` and `snake_case` as words. */
export function plain(text: string): string {
  // Removes accents before and after `normalize`, which would need long to sort a row of thousands.
  return text
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .replace(/[_-]+/g, ' ')
    .replace(/\p{M}/gu, '')
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[łøßæıđœ]/g, (letter) => basic[letter] ?? letter);
}

/** Letters that Unicode doesn't decompose into a letter and an accent. */
const basic: Partial<Record<string, string>> = { ł: 'l', ø: 'o', ß: 'ss', æ: 'ae', ı: 'i', đ: 'd', œ: 'oe' };

/**
 * For each subject, the beginnings of words in English, German, Dutch, the Nordic, Romance and Slavic languages,
 * Hungarian, Finnish, Greek, Turkish, Indonesian, Vietnamese, Arabic, Persian, Hebrew, Hindi, Thai, Japanese, Korean
 * and Chinese. Commas separate them. With `=` in front, it is a whole word.
 */
const vocabulary = {
  password: `password, passwd, =pwd, =pw, passphrase, passcode, passwort, kennwort, wachtwoord, losenord, adgangskode, kodeord, passord, salasana, mot de passe, motdepasse, contrasena,
    clave, senha, palavra passe, contrasenya, parola, haslo, heslo, лозинка, lozinka, geslo, пароль, парола, jelszo, κωδικος προσβασης, συνθηματικο, sifre, kata sandi, mat khau, كلمة المرور, كلمة السر,
    الرقم السري, رمز عبور, گذرواژه, סיסמה, סיסמא, पासवर्ड, รหัสผ่าน, パスワード, 暗証番号, 비밀번호, 密码, 密碼, 口令, =pin, pin code, pincode`,
  identifier: `user, username, =login, login id, login name, loginid, account, email, e mail, mail address, phone, mobile, member, customer number, customer id, client number, client id, employee id, student id, =nick, =id,
    benutzer, nutzer, anmeldename, kennung, teilnehmer, legitimation, vertragsnummer, zugangskennung, inlognaam, student number, account number, card number, policy number, numero de client, numero de cliente, numero cliente, codigo de cliente, codigo de usuario, codice cliente, codice utente, kundennummer, mitgliedsnummer, kontonummer, zugangsnummer, telefon, handynummer, gebruiker, klantnummer, anvandar, bruger, bruker, kayttaj, sahkoposti, personnummer,
    utilisateur, identifiant, adresse mail, courriel, adresse electronique, numero client, usuari, correo, cuenta, usuario, utilizador, endereco, conta, utente, indirizzo, posta elettronica, telefono, telefone, cpf, dni, nif, codice fiscale,
    uzytkownik, nazwa, numer klienta, adres, uzivatel, jmeno, uzivatelsk, korisnicko, uporabnisko, имя пользователя, логин, почта, телефон, пользовател, користувач, пошта, потребител, имейл, felhasznalo, azonosito, utilizator, nume de utilizator,
    χρηστη, ηλεκτρονικη διευθυνση, ταχυδρομει, kullanici, eposta, e posta, pengguna, nama pengguna, surel, nguoi dung, ten dang nhap, thu dien tu, so dien thoai, اسم المستخدم, المستخدم, البريد, الهاتف, الجوال, رقم الحساب, رقم الهوية, نام کاربری, ایمیل, کاربر, تلفن,
    שם משתמש, משתמש, דואר אלקטרוני, דוא ל, דוא"ל, אימייל, טלפון, תעודת זהות, उपयोगकर्ता, यूज़र, ईमेल, मोबाइल, फ़ोन, ชื่อผู้ใช้, อีเมล, ผู้ใช้, เบอร์โทร, ユーザー, ユーザ, メール, ログインid, 会員, 会員番号, お客様番号, 電話番号, 利用者, アカウント,
    아이디, 사용자, 이메일, 계정, 전화번호, 휴대폰, 用户名, 用户, 账号, 帐号, 账户, 邮箱, 手机, 手机号, 使用者, 帳號, 帳戶, 電子郵件, 信箱, 手機`,
  email: `email, e mail, mail address, courriel, correo, posta elettronica, sahkoposti, почт, пошт, имейл, eposta, e posta, surel, البريد, ایمیل, אימייל, דוא"ל, דואר אלקטרוני, ईमेल, อีเมล, メール, 이메일, 邮箱, 電子郵件, 信箱, ηλεκτρονικ, epost, e post`,
  phone: `phone, mobile, telefon, handy, telephone, portable, telefono, celular, movil, telefone, cellulare, телефон, τηλεφων, الهاتف, الجوال, تلفن, טלפון, मोबाइल, फ़ोन, เบอร์โทร, 電話番号, 携帯, 전화번호, 휴대폰, 手机, 手機, 电话, 電話, puhelin`,
  code: `one time, onetime, otp, 2fa, mfa, totp, verification code, verify code, security code, authentication code, auth code, login code, sign in code, access code, confirmation code, passcode, digit code, sms code, smscode, =code, =token, =tan, =mtan, verificationcode,
    authenticator code, backup code, recovery code, einmalcode, bestatigungscode, sicherheitscode, verifizierungscode, stelliger code, stelligen code, zahlencode, einmalpasswort, =smstan, verificatiecode, beveiligingscode, verifieringskod, engangskod, bekraeftelseskode, engangskode, engangskode, vahvistuskoodi, kertakayttokoodi,
    code de verification, code de securite, code a usage unique, code recu, code de confirmation, codigo, codi de, codice, kod, overovaci kod, jednorazov, код, одноразов, kodot, ellenorzo kod, egyszeri, κωδικος επαληθευσης, κωδικος μιας χρησης, dogrulama kodu, =kodu, kode verifikasi, ma xac, ma otp,
    رمز التحقق, كود التحقق, رمز التأكيد, الرمز, کد تایید, کد تأیید, کد یکبار, קוד אימות, קוד חד, קוד, सत्यापन कोड, ओटीपी, कोड, รหัสยืนยัน, รหัส otp, 認証コード, 確認コード, ワンタイム, セキュリティコード, 認証番号, コード, 인증번호, 인증 코드, 보안 코드, 验证码, 动态码, 校验码, 驗證碼, 動態密碼, 認證碼`,
  authenticator: `authenticator, totp, authy, google authenticator, authentifizierungs app, authentifikator, application d authentification, aplicacion de autenticacion, app de autentica, autenticador, app di autenticazione, autenticatore, aplikacj uwierzytelniaj, aplikacji uwierzytelniaj, приложени аутентификац, приложения для аутентификации,
    приложении для аутентификации, dogrulama uygulama, تطبيق المصادقة, برنامه احراز, אפליקציית אימות, ऑथेंटिकेटर, 認証アプリ, 認証システム, 인증 앱, 身份验证器, 验证器, 驗證器, 驗證應用`,
  newPassword: `new password, confirm password, confirm your password, repeat password, retype, re enter password, create password, choose a password, create a password, password confirmation, passwordconfirm, neues passwort, passwort wiederholen, passwort bestatigen, nouveau mot de passe, confirmer le mot, confirmez le mot,
    nueva contrasena, confirmar contrasena, repita, confirmar senha, nova senha, nuova password, conferma password, nowe haslo, powtorz, новый пароль, повторите, подтвердите пароль, تأكيد كلمة, كلمة مرور جديدة, אימות סיסמה, סיסמה חדשה, パスワード（確認, パスワード(確認, 新しいパスワード, パスワード再入力, 새 비밀번호, 비밀번호 확인, 新密码, 确认密码, 確認密碼, 新密碼`,
  signUp: `sign up, signup, register, registration, create account, create an account, create your account, new account, join now, join free, get started, registrieren, registrierung, konto erstellen, konto anlegen, konto eroffnen, neu hier, account aanmaken, registreren, skapa konto, opret, registrer, luo tili, rekisteroidy, inscription, s inscrire, creer un compte, inscrivez,
    registrarse, registrate, crear cuenta, crear una cuenta, cadastr, criar conta, registar, registrati, crea account, crea un account, iscriviti, zarejestruj, zaloz konto, utworz konto, registrace, zaregistr, зарегистр, регистрац, создать аккаунт, зареєстр, regisztra, inregistr, εγγραφη, kaydol, uye ol, hesap olustur, daftar, dang ky, إنشاء حساب, تسجيل جديد, حساب جديد, اشترك,
    ثبت نام, הרשמה, הירשם, צור חשבון, साइन अप, पंजीक, สมัคร, 新規登録, 会員登録, アカウント作成, アカウントを作成, 회원가입, 가입, 注册, 注冊, 註冊`,
  logIn: `log in, login, sign in, signin, log on, logon, sign on, anmelden, anmeldung, einloggen, =einlog, inloggen, aanmelden, logga in, log ind, logg inn, kirjaudu, se connecter, connexion, connectez, s identifier, identifiez, iniciar sesion, inicia sesion, acceder, ingresar, =entrar, acceso, iniciar sessao, iniciar a sessao, acessar, accedi, accesso, inicia sessio, zaloguj, logowanie,
    prihlasit, prihlaseni, prihlasenie, prijava, prijavi, войти, вход, авториза, увійти, вхід, влез, bejelentkez, belepes, autentificare, conectare, intra in cont, συνδεση, εισοδος, giris yap, oturum ac, =giris, masuk, dang nhap, تسجيل الدخول, دخول, سجل الدخول, ورود, כניסה, התחבר, היכנס, लॉग इन, लॉगिन, साइन इन, เข้าสู่ระบบ, ลงชื่อเข้า, ログイン, サインイン, 로그인, 登录, 登入, 登錄`,
  logOut: `log out, logout, sign out, signout, log off, logoff, sign off, abmelden, ausloggen, uitloggen, afmelden, logga ut, log ud, logg ut, kirjaudu ulos, deconnexion, se deconnecter, cerrar sesion, cerrar la sesion, =salir, =sair, terminar sessao, =esci, disconnetti, logout, wyloguj, odhlasit, odjava, выйти, выход, вийти, kijelentkez, deconectare, αποσυνδεση, cikis, oturumu kapat, keluar, dang xuat, تسجيل الخروج, خروج, התנתק, יציאה, लॉग आउट, साइन आउट, ออกจากระบบ, ログアウト, サインアウト, 로그아웃, 退出, 登出, 注销`,
  search: `search, =q, =query, suche, suchen, durchsuchen, zoeken, =sok, recherche, rechercher, buscar, busqueda, pesquis, cerca, szukaj, hledat, поиск, искать, найти, пошук, kereses, cauta, αναζητηση, =ara, =arama, cari, tim kiem, بحث, جستجو, חיפוש, खोज, ค้นหา, 検索, 검색, 搜索, 搜尋`,
  newsletter: `newsletter, subscribe, subscription, mailing list, stay updated, stay in touch, news per, abonnieren, abonnez, infolettre, suscri, boletin, =assine, inscreva, iscriviti alla, subskryb, biuletyn, odber, рассылк, подпис, hirlevel, abone ol, بلتن, النشرة, خبرنامه, ניוזלטר, चंदा, メルマガ, メールマガジン, 購読, 뉴스레터, 구독, 订阅, 訂閱, coupon, promo code, gutschein, gift card, zip code, postal code, postcode, area code, qr code, country code, invite code, referral`,
  forgot: `forgot, forgotten, lost your, trouble signing, trouble logging, can t access, reset, recover, need help, vergessen, zurucksetzen, vergeten, glomt, glemt, unohtu, oublie, olvid, recuperar, esquec, dimentica, nie pamiet, zapomnia, zapom, забыл, восстанов, забув, elfelejt, uitat, ξεχασ, unuttu, lupa, quen mat, نسيت, فراموش, שכח, भूल, ลืม, 忘れ, お困り, 잊으, 찾기, 忘记, 忘記, 找回`,
  next: `next, continue, proceed, weiter, fortfahren, volgende, nasta, =neste, =naeste, seuraava, jatka, suivant, continuer, poursuivre, siguiente, continuar, seguinte, avancar, avanti, prosegui, continua, dalej, kontynuuj, dalsi, pokracovat, далее, продолжить, далі, tovabb, inainte, επομενο, συνεχεια, ileri, devam, lanjut, berikut, tiep, التالي, متابعة, بعدی, ادامه, הבא, המשך, आगे, अगला, जारी, ถัดไป, ต่อไป, 次へ, 次に, 続行, 続ける, 다음, 계속, 下一步, 继续, 繼續`,
  submit: `submit, verify, confirm, =ok, =go, enter, unlock, validate, bestatigen, absenden, prufen, verifizieren, bevestig, verifieer, bekrafta, bekraeft, bekreft, vahvista, valider, confirmer, verifier, envoyer, verificar, confirmar, enviar, comprobar, verifica, conferma, invia, potwierdz, zweryfikuj, wyslij, potvrdit, overit, odeslat, подтвердить, проверить, отправить, підтвердити, megerosit, confirma, επιβεβαιωση, onayla, dogrula, gonder, verifikasi, konfirmasi, kirim, xac nhan, xac minh, gui, تأكيد, تحقق, إرسال, تایید, אישור, אמת, שלח, सत्यापित, पुष्टि, ยืนยัน, 確認, 認証, 送信, 検証, 확인, 인증, 提交, 确认, 确定, 验证, 確認, 確定, 驗證`,
  cancel: `cancel, back, close, dismiss, abbrechen, zuruck, schliessen, annuler, retour, fermer, cancelar, volver, cerrar, voltar, fechar, annulla, indietro, chiudi, anuluj, wroc, zrusit, zpet, отмена, назад, закрыть, megse, vissza, iptal, geri, إلغاء, رجوع, إغلاق, انصراف, ביטול, חזור, रद्द, ยกเลิก, キャンセル, 戻る, 閉じる, 취소, 뒤로, 取消, 返回, 关闭, resend, send again, new code, erneut senden, nochmal senden, renvoyer, reenviar, invia di nuovo, wyslij ponownie, отправить снова, отправить еще, повторно, إعادة إرسال, שלח שוב, 再送, 재전송, 重新发送, 重新發送`,
  toggle: `=show, =hide, show password, hide password, show pass, hide pass, toggle, reveal, anzeigen, verbergen, passwort zeigen, afficher, masquer, mostrar, ocultar, mostra, nascondi, pokaz, ukryj, показать, скрыть, إظهار, إخفاء, הצג, הסתר, 表示, 隠す, 표시, 显示, 隐藏, 顯示, language, sprache, langue, idioma, lingua, язык, 言語, 语言, 語言, 언어, اللغة`,
  approval: `on your phone, on your device, on your mobile, in your app, in the app, on your smartphone, push notification, we sent a notification, notification was sent, sent a notification, approve the, approve this, approve sign, approve your, check your email, check your inbox, check your phone, check your mail, open your email, magic link, sign in link, login link, link we sent, click the link, sent you a link, sent a link,
    emailed a link, emailed you, security key, insert your key, touch your key, scan the qr, scan this qr, waiting for approval, waiting for you to approve, waiting for confirmation, auf ihrem handy, auf ihrem smartphone, auf ihrem mobil, auf deinem handy, auf deinem smartphone, auf ihrem gerat, auf deinem gerat, in ihrer app, in der app, in deiner app, push nachricht, postfach, posteingang, link in der e mail, link geschickt, link gesendet, link per e mail, sicherheitsschlussel, warten auf bestatigung, warten auf ihre,
    op uw telefoon, op je telefoon, pa din telefon, i din app, puhelimeesi, sur votre telephone, sur votre mobile, sur votre appareil, dans l application, dans votre application, boite mail, boite de reception, lien envoye, lien de connexion, votre messagerie, notification push, cle de securite, en tu telefono, en su telefono, en tu movil, en tu dispositivo, en su dispositivo, en la aplicacion, bandeja de entrada, revisa tu correo, enlace de acceso, enlace que, clave de seguridad, no seu celular, no seu telemovel, no aplicativo, no app, caixa de entrada, sul telefono, sul tuo telefono, sul dispositivo, nell app, posta in arrivo,
    controlla la posta, chiave di sicurezza, w telefonie, na telefonie, w aplikacji, skrzynke, v telefonu, v aplikaci, на телефоне, на вашем телефоне, в приложении, на устройстве, проверьте почту, ссылку для входа, ссылка для входа, у застосунку, telefonjan, az alkalmazasban, pe telefon, στο κινητο, στην εφαρμογη, telefonunuz, uygulamadan, cihazinizdan, di ponsel, di aplikasi, tren dien thoai, في هاتفك, على هاتفك, في التطبيق, من التطبيق, على جهازك, تحقق من بريدك, روی گوشی, در برنامه, בטלפון, באפליקציה, בנייד, בדוק את הדואר, अपने फ़ोन, ऐप में, บนโทรศัพท์, ในแอป, スマートフォンで, 端末で, アプリで, スマホで, メールをご確認, メールを確認, リンクをクリック, 承認してください, 휴대폰에서, 휴대전화에서, 앱에서, 기기에서, 이메일을 확인, 메일함, 在手机上, 在您的手机, 在应用, 在设备上, 查看您的邮箱, 查收邮件, 点击链接, 扫描二维码, 扫码, 在手機上, 在您的手機, 在應用, 查看電子郵件, 安全密钥, 安全金鑰`,
  sms: `sms, text message, text me, =text, textnachricht, mobilnummer, kurznachricht, texto, mensaje de texto, mensagem de texto, messaggio, смс, رسالة نصية, رسالة قصيرة, پیامک, מסרון, הודעת טקסט, एसएमएस, ข้อความ, ショートメッセージ, ショートメール, テキストメッセージ, 문자, 短信, 簡訊, 短訊`,
  call: `call me, phone call, voice call, =call, =voice, anruf, rufen sie mich, sprachanruf, telefonisch, appel, appelez, llamada, llamar, ligacao, chamada, chiamata, polaczeni telefon, zadzwon, hovor, звонок, позвон, дзвінок, hivas, apel, κληση, arama yap, sesli arama, panggilan, cuoc goi, مكالمة, اتصال هاتفي, تماس, שיחה, कॉल, โทร, 音声通話, 電話で, 電話をかけ, 전화 통화, 음성, 语音, 電話, 語音`,
  push: `push, notification, approve on, approve in, benachrichtigung, mitteilung, in der app, app bestatig, notifica, powiadomien, oznamen, уведомлен, сповіщен, ertesites, bildirim, notifikasi, thong bao, إشعار, اعلان, התראה, सूचना, แจ้งเตือน, プッシュ, 通知, 푸시, 알림, 推送`,
  anotherWay: `another way, other way, another method, other method, different method, other options, more options, different way, something else, having trouble, can t use, alternative, andere methode, anderen weg, andere option, weitere option, anders anmelden, auf andere weise, autre methode, autrement, autre facon, otra manera, otro metodo, otra forma, outra forma, outro metodo, altro metodo, altro modo, inny sposob, inna metoda, jiny zpusob, другой способ, другим способом, інший спосіб, mas modszer, alta metoda, αλλο τροπο, baska bir, cara lain, cach khac, طريقة أخرى, روش دیگر, דרך אחרת, अन्य तरीक, दूसरा तरीका, วิธีอื่น, 別の方法, 他の方法, 다른 방법, 其他方式, 其他方法, 换个方式, 其他驗證`,
  account: `choose an account, select an account, pick an account, choose account, select account, which account, use another account, choose your organization, select organization, select your organization, choose a workspace, select a workspace, select workspace, choose organization, konto auswahlen, konto wahlen, wahlen sie ein konto, konto aus, organisation wahlen, organisation auswahlen, choisissez un compte, choisir un compte, selectionnez un compte, elige una cuenta, selecciona una cuenta, escolha uma conta, selecionar conta, scegli un account, seleziona account, wybierz konto, vyberte ucet, выберите аккаунт, виберіть обліковий, valasszon fiokot, hesap sec, pilih akun, chon tai khoan, اختر حساب, اختيار حساب, انتخاب حساب, בחר חשבון, बחירת חשבון, खाता चुनें, เลือกบัญชี, アカウントを選択, アカウントの選択, 계정 선택, 选择账户, 选择帐号, 选择账号, 選擇帳戶, 選擇帳號`,
  interstitial: `stay signed in, keep me signed in, stay logged in, remember this device, trust this device, trust this browser, save this device, angemeldet bleiben, diesem gerat vertrauen, rester connecte, faire confiance, mantener la sesion, confiar en este, manter sessao, continuar conectado, confiar neste, rimani connesso, resta connesso, pozostac zalogowan, nie wylogowuj, zustat prihlasen, оставаться в системе, не выходить из, доверять, oturumunuz acik, البقاء مسجل, הישאר מחובר, サインインの状態を維持, ログイン状態を保持, 로그인 상태를 유지, 保持登录, 保持登入, wants to access, would like to access, requests access, is requesting, authorize, authorise, allow access, grant access, mochte auf, zugriff erlauben, zugriff gewahren, autoriser, autorizar, autorizza, zezwol, разрешить, السماح, אפשר גישה, アクセスを許可, 許可する, 허용, 授权, 授權`,
  empty: `leave blank, leave empty, leave this, do not fill, don t fill, do not enter, honeypot, honey pot, if you are human, if you re human, not fill, nicht ausfullen, leer lassen, freilassen, laissez vide, laisser vide, ne pas remplir, dejar en blanco, deje en blanco, no rellenar, deixe em branco, nao preencha, lasciare vuoto, non compilare, zostaw puste, nie wypelniaj, не заполняйте, оставьте пустым, اتركه فارغ, لا تملأ, השאר ריק, 入力しないで, 空欄のまま, 비워 두, 请勿填写, 留空`,
  cookies: `cookie, consent, accept all, reject all, alle akzeptieren, alle ablehnen, tout accepter, tout refuser, aceptar todo, rechazar, accetta tutti, privacy preferences`,
  passkey: `passkey, security key, webauthn, fido, fingerprint, face id, windows hello, passschlussel, sicherheitsschlussel, cle d acces, cle de securite, llave de acceso, clave de acceso, chave de acesso, klucz dostepu, ключ доступа, ключ безопасности, مفتاح المرور, מפתח גישה, パスキー, セキュリティキー, 패스키, 보안 키, 通行密钥, 安全密钥, 通行金鑰, 安全金鑰, biometric`,
};

const isLatin = /^[a-z]/;
const isSpaced = /^[\p{Script=Cyrillic}\p{Script=Greek}]/u;
const isNotAscii = /\P{ASCII}/u;

const patterns = Object.fromEntries(
  Object.entries(vocabulary).map(([subject, words]) => [subject, patternsOf(words)]),
) as Record<Subject, Patterns>;

/**
 * The patterns by script. `unspaced` is for scripts without spaces, and for Arabic and Hebrew, which join particles to
 * the beginnings of words.
 */
type Patterns = { latin: RegExp; spaced: RegExp; unspaced: RegExp };

function patternsOf(list: string): Patterns {
  const words = list.split(',').map((word) => {
    const text = plain(word.trim().replace(/^=/, '')).trim();
    const pattern = text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll(' ', "[\\s'’.-]*");
    return { text, pattern: pattern + (word.trim().startsWith('=') ? '(?!\\p{L})' : '') };
  });
  const anyOf = (start: string, isOne: (text: string) => boolean) => {
    const alternatives = words.filter(({ text }) => isOne(text)).map(({ pattern }) => pattern);
    return new RegExp(alternatives.length > 0 ? `${start}(?:${alternatives.join('|')})` : '(?!)', 'u');
  };
  return {
    latin: anyOf('(?<![a-z])', (text) => isLatin.test(text)),
    spaced: anyOf('(?<!\\p{L})', (text) => isSpaced.test(text)),
    unspaced: anyOf('', (text) => !isLatin.test(text) && !isSpaced.test(text)),
  };
}
