import type { LoginFixture } from './fixture.ts';

/** The ways in which a page can say what a field is. */
export const labels: LoginFixture[] = [
  {
    name: 'labels tied by `for`',
    html: `<h1>Sign in</h1><form><label for="a">Email address</label><input id="a" type="email" name="email">
      <label for="b">Password</label><input id="b" type="password" name="pass"><button>Sign in</button></form>`,
    fields: ['identifier: Email address', 'password: Password'],
  },
  {
    name: 'labels around fields',
    html: `<form><label>Username <input name="u"></label><label>Password <span>*</span><input type="password" name="p"></label><input type="submit" value="Log in"></form>`,
    fields: ['identifier: Username', 'password: Password'],
  },
  {
    name: 'aria-label',
    html: `<form><input aria-label="Phone, email or username" name="x1"><input aria-label="Password" type="password" name="x2"><button>Next</button></form>`,
    fields: ['identifier: Phone, email or username', 'password: Password'],
  },
  {
    name: 'aria-labelledby of several elements',
    html: `<form><span id="l1">Member</span> <b id="l2">number</b><input aria-labelledby="l1 l2" name="m"><span id="l3">Passphrase</span><input aria-labelledby="l3" type="password">
      <button type="submit">Enter</button></form>`,
    fields: ['identifier: Member number', 'password: Passphrase'],
  },
  {
    name: 'placeholders only',
    html: `<form><input placeholder="Email"><input type="password" placeholder="Password"><button>Continue</button></form>`,
    fields: ['identifier: Email', 'password: Password'],
  },
  {
    name: 'no labels at all',
    html: `<form><input><input type="password"><input type="submit"></form>`,
    fields: ['identifier: Username', 'password: Password'],
  },
  {
    name: 'autocomplete hints only',
    html: `<form><input autocomplete="section-x username"><input autocomplete="current-password" type="password"><button>&rarr;</button></form>`,
    fields: ['identifier: Username', 'password: Password'],
  },
  {
    name: 'names only',
    html: `<form><input name="user[login]"><input name="user[password]" type="password"><button><svg width="16" height="16"></svg></button></form>`,
    fields: ['identifier: Username', 'password: Password'],
  },
  {
    name: 'a table of labels and fields',
    html: `<form><table><tr><td>Customer ID:</td><td><input name="f1"></td></tr><tr><td>PIN:</td><td><input type="password" name="f2"></td></tr></table><button>OK</button></form>`,
    fields: ['identifier: Customer ID', 'password: PIN'],
  },
  {
    name: 'text before fields in boxes of their own',
    html: `<form><div><div>Your email</div><div><input name="q1"></div></div><div><div>Secret word</div><div><input type="password" name="q2"></div><a href="#f">Forgot it?</a></div><button>Go</button></form>`,
    fields: ['identifier: Your email', 'password: Secret word'],
  },
  {
    name: 'floating labels after the fields',
    html: `<style>.f{position:relative;height:40px}.f label{position:absolute;left:8px;top:10px;pointer-events:none}</style>
      <form><div class="f"><input id="fa" type="text" placeholder=" "><label for="fa">User name</label></div><div class="f"><input id="fb" type="password" placeholder=" "><label for="fb">Password</label>
      <button type="button" aria-label="Show password">👁</button></div><button>Sign in</button></form>`,
    fields: ['identifier: User name', 'password: Password'],
  },
  {
    name: 'labels that only screen readers get',
    html: `<style>.sr{position:absolute;width:1px;height:1px;overflow:hidden;clip:rect(0 0 0 0)}</style>
      <form><label class="sr" for="s1">Work email</label><input id="s1"><label class="sr" for="s2">Password</label><input id="s2" type="password"><button>Log in</button></form>`,
    fields: ['identifier: Work email', 'password: Password'],
  },
  {
    name: 'a company besides who it is',
    html: `<form><label>Account ID <input name="account"></label><label>User name <input name="username" autocomplete="username"></label><label>Password <input name="password" type="password"></label><button>Sign in</button></form>`,
    fields: ['text: Account ID', 'identifier: User name', 'password: Password'],
  },
  {
    name: 'a password field that hides its text by style',
    html: `<form><label>Login <input name="l"></label><label>Password <input name="p" type="text" style="-webkit-text-security: disc"></label><button>Login</button></form>`,
    fields: ['identifier: Login', 'password: Password'],
  },
];
