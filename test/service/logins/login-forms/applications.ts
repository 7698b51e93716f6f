import type { LoginFixture } from './fixture.ts';

/** Logins as frameworks and products of different ages make them. */
export const applications: LoginFixture[] = [
  {
    name: 'a component library with outlined fields and a remember-me box',
    html: `<div class="MuiBox-root"><h1 class="MuiTypography-root">Sign in</h1><form novalidate><div class="MuiFormControl-root"><label id="e-label" for="e">Email Address<span aria-hidden="true"> *</span></label><div><input id="e" name="email" autocomplete="email" required><fieldset aria-hidden="true"><legend><span>Email Address *</span></legend></fieldset></div></div>
      <div class="MuiFormControl-root"><label for="p">Password *</label><div><input id="p" name="password" type="password" required></div></div><label><input type="checkbox" value="remember"> Remember me</label><button type="submit">Sign In</button><a href="#">Forgot password?</a><a href="#">Don't have an account? Sign Up</a></form></div>`,
    fields: ['identifier: Email Address', 'password: Password'],
  },
  {
    name: 'custom fields whose trees hold label and input',
    html: `<x-text-field label="Username"></x-text-field><x-text-field label="Password" kind="password"></x-text-field><x-btn label="Log in"></x-btn><script>
      customElements.define('x-text-field', class extends HTMLElement { connectedCallback() { this.attachShadow({mode:'open'}).innerHTML = '<div><label for="i">' + this.getAttribute('label') + '</label><input id="i" type="' + (this.getAttribute('kind') ?? 'text') + '"></div>'; } });
      customElements.define('x-btn', class extends HTMLElement { connectedCallback() { this.attachShadow({mode:'closed'}).innerHTML = '<button>' + this.getAttribute('label') + '</button>'; } });</script>`,
    fields: ['identifier: Username', 'password: Password'],
  },
  {
    name: 'a database tool with a language and a server to choose',
    html: `<h1>Welcome to the database</h1><form><label>Language <select name="lang"><option>English</option><option>Deutsch</option></select></label></form><form name="login_form"><fieldset><legend>Log in</legend>
      <div><label for="u">Username:</label><input id="u" name="pma_username" autocomplete="username"></div><div><label for="p">Password:</label><input id="p" name="pma_password" type="password"></div><div><label for="s">Server choice:</label><select id="s"><option>db1</option><option>db2</option></select></div></fieldset><input type="submit" value="Log in"></form>`,
    fields: ['identifier: Username', 'password: Password'],
  },
  {
    name: 'a page of the nineties',
    html: `<center><table border=1><form action="login.cgi" method=post><tr><td colspan=2><b>Members only</b></td></tr><tr><td><font size=2>ID</font></td><td><input type=text name=id size=10></td></tr><tr><td><font size=2>PW</font></td><td><input type=password name=pw size=10></td></tr><tr><td colspan=2><input type=submit value="Enter"></td></tr></form></table></center>`,
    fields: ['identifier: ID', 'password: PW'],
  },
  {
    name: 'tabs for password and text message',
    html: `<div role="tablist"><button role="tab" aria-selected="true">Password</button><button role="tab">Text message</button></div><div role="tabpanel"><div><select aria-label="Country code"><option>+49</option></select><input type="tel" placeholder="Phone number"></div><div><input type="password" placeholder="Password"></div><button>Log in</button></div>
      <div role="tabpanel" hidden><input type="tel" placeholder="Phone number"><input placeholder="Code"><button>Send code</button></div>`,
    fields: ['identifier: Phone number', 'password: Password'],
  },
  {
    name: 'a login with a code besides the password',
    html: `<form><label>User <input name="j_username"></label><label>Password <input type="password" name="j_password"></label><label>Token code <input name="passcode" autocomplete="off"></label><button>Sign On</button></form>`,
    fields: ['identifier: User', 'password: Password', 'code: Token code'],
  },
  {
    name: 'the e-mail first, with providers below',
    html: `<main><h1>Log in to continue</h1><form><div><label for="username">Enter your email</label><input type="email" id="username" autocomplete="username"></div><button id="login-submit">Continue</button></form><div>Or continue with:</div><button><img alt="" src="data:,">Google</button><button>Microsoft</button><button>Apple</button><button>Slack</button><a href="/signup">Create an account</a></main>`,
    fields: ['identifier: Enter your email'],
    choices: ['sso_provider: Google', 'sso_provider: Microsoft', 'sso_provider: Apple', 'sso_provider: Slack'],
  },
  {
    name: 'the password step that shows who it is',
    html: `<main><h1>Enter password</h1><div>alice@example.com <button aria-label="Back">←</button></div><form><input type="text" name="loginfmt" style="display:none" value="alice@example.com"><input type="password" name="passwd" placeholder="Password" aria-label="Enter the password for alice@example.com"><a href="#">Forgot my password</a><a href="#">Other ways to sign in</a><input type="submit" value="Sign in"></form></main>`,
    fields: ['password: Enter the password for alice@example.com'],
    choices: ['auth_method: Other ways to sign in'],
  },
  {
    name: 'a read-only user name above the password',
    html: `<form><label>User name <input readonly value="alice"></label><label>Password <input type="password"></label><button>Log in</button></form>`,
    fields: ['password: Password'],
  },
  {
    name: 'a password that one sets up for the login of a shop, beside guests',
    html: `<div><h2>Returning customers</h2><form><label>E-mail address<input name="login[username]" type="email"></label><label>Password<input name="login[password]" type="password" autocomplete="off"></label><button>Login</button></form></div><div><h2>Guest checkout</h2><form><label>E-mail address<input type="email"></label><label>Zip code<input></label><button>Continue as guest</button></form></div>`,
    fields: ['identifier: E-mail address', 'password: Password'],
  },
  {
    name: 'a tenant to enter first',
    html: `<h1>Sign in to your workspace</h1><form><label>Workspace URL <input name="domain" placeholder="your-workspace"></label><button>Continue</button></form>`,
    fields: ['identifier: Workspace URL'],
  },
  {
    name: 'nested frames',
    html: `<iframe width="500" height="400" srcdoc='<p>Portal</p><iframe width="450" height="300" srcdoc="<form><label>Name of user <input></label><label>Password <input type=password></label><button>Login</button></form>"></iframe>'></iframe>`,
    fields: ['identifier: Name of user', 'password: Password'],
  },
  {
    name: 'a code box beside an unrelated search, with a link for another code',
    html: `<nav><form role="search"><input type="search" placeholder="Search"></form></nav><main><h1>Security check</h1><p id="h">Enter the 8-digit code that we sent to a***e@example.com.</p><input aria-describedby="h" name="answer"><div role="button" tabindex="0">Submit</div><a href="#">Resend code</a></main>`,
    fields: ['code: Code'],
  },
  {
    name: 'a cookie banner over the login',
    html: `<div style="position:fixed;inset:0;background:#fffc"><div role="dialog"><p>We use cookies.</p><button>Accept all</button><button>Reject all</button></div></div><form><input name="username" placeholder="Username"><input name="password" type="password" placeholder="Password"><button>Sign in</button></form>`,
    fields: ['identifier: Username', 'password: Password'],
  },
  {
    name: 'buttons of pictures, and one field in a label without text',
    html: `<form><label><img alt="User" src="data:," width="16" height="16"><input name="usr"></label><label><img alt="Lock" src="data:," width="16" height="16"><input name="pwd" type="password"></label><input type="image" alt="Go" src="data:," width="20" height="20"></form>`,
    fields: ['identifier: User', 'password: Lock'],
  },
];
