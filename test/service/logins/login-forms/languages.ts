import type { LoginFixture } from './fixture.ts';

/** Logins whose fields say only in words what they are for. */
export const languages: LoginFixture[] = [
  make('German', ['Benutzername', 'Kennwort', 'Anmelden'], ['Newsletter abonnieren', 'Absenden']),
  make('Japanese', ['メールアドレス', 'パスワード', 'ログイン'], ['検索', '検索']),
  make('Arabic', ['اسم المستخدم أو البريد الإلكتروني', 'كلمة المرور', 'تسجيل الدخول'], ['بحث', 'بحث'], 'rtl'),
  make('French', ['Adresse e-mail', 'Mot de passe', 'Se connecter'], ['Rechercher', 'OK']),
  make('Spanish', ['Correo electrónico', 'Contraseña', 'Iniciar sesión'], ['Buscar', 'Buscar']),
  make('Portuguese', ['Usuário', 'Senha', 'Entrar'], ['Pesquisar', 'OK']),
  make('Polish', ['Nazwa użytkownika', 'Hasło', 'Zaloguj się'], ['Szukaj', 'Szukaj']),
  make('Russian', ['Логин', 'Пароль', 'Войти'], ['Поиск', 'Найти']),
  make('Chinese', ['手机号/邮箱', '密码', '登录'], ['搜索', '搜索']),
  make('Korean', ['아이디', '비밀번호', '로그인'], ['검색', '검색']),
  make('Hebrew', ['שם משתמש', 'סיסמה', 'התחברות'], ['חיפוש', 'חיפוש'], 'rtl'),
  make('Turkish', ['Kullanıcı adı', 'Şifre', 'Giriş yap'], ['Ara', 'Ara']),
  make('Hindi', ['ईमेल या मोबाइल', 'पासवर्ड', 'लॉग इन करें'], ['खोजें', 'खोजें']),
  {
    name: 'the first step in Japanese, with a newsletter below',
    html: `<html lang="ja"><form><input placeholder="ログインID"><button>次へ</button></form><form><input placeholder="メールアドレス"><button>メルマガを購読する</button></form></html>`,
    fields: ['identifier: ログインID'],
  },
  {
    name: 'a code in German',
    html: `<html lang="de"><h1>Bestätigungscode eingeben</h1><p>Wir haben Ihnen eine SMS an •••• 42 geschickt.</p><form><input name="x"><button>Bestätigen</button><button type="button">Code erneut senden</button></form></html>`,
    fields: ['code: Code'],
  },
  {
    name: 'a code in Arabic',
    html: `<html lang="ar" dir="rtl"><form><label>رمز التحقق <input inputmode="numeric" maxlength="6"></label><button>تأكيد</button></form></html>`,
    fields: ['code: رمز التحقق'],
  },
];

/** A login without types and names, but for the password's, and another form before it. */
function make(
  language: string,
  [user, password, button]: string[],
  [other, submit]: string[],
  direction = 'ltr',
): LoginFixture {
  return {
    name: language,
    html: `<html dir="${direction}"><form><input placeholder="${other}"><button>${submit}</button></form>
      <div><div><span>${user}</span><input></div><div><span>${password}</span><input type="password"></div><button>${button}</button></div></html>`,
    fields: [`identifier: ${user}`, `password: ${password}`],
  };
}
