import type { LoginFixture } from './fixture.ts';

const login = `<form><label>Email <input type="email"></label><label>Password <input type="password"></label><button>Log in</button></form>`;

/** Places of a login in a page, and other elements beside it. */
export const structures: LoginFixture[] = [
  {
    name: 'an open shadow tree',
    html: `<my-login></my-login><script>document.querySelector('my-login').attachShadow({mode:'open'}).innerHTML = \`${login}\`</script>`,
    fields: ['identifier: Email', 'password: Password'],
  },
  {
    name: 'a closed shadow tree',
    html: `<my-login></my-login><script>document.querySelector('my-login').attachShadow({mode:'closed'}).innerHTML = \`${login}\`</script>`,
    fields: ['identifier: Email', 'password: Password'],
  },
  {
    name: 'a closed shadow tree of a plain element in another one',
    html: `<div id="o"></div><script>const r = document.querySelector('#o').attachShadow({mode:'open'}); r.innerHTML = '<div id="i"></div>';
      r.querySelector('#i').attachShadow({mode:'closed'}).innerHTML = \`${login}\`</script>`,
    fields: ['identifier: Email', 'password: Password'],
  },
  {
    name: 'fields as elements of their own with a tree each',
    html: `<form><x-field label="Employee ID" name="emp"></x-field><x-field label="Password" type="password"></x-field><x-button>Sign in</x-button></form>
      <script>customElements.define('x-field', class extends HTMLElement { connectedCallback() { this.attachShadow({mode:'open'}).innerHTML = '<input type="' + (this.getAttribute('type') ?? 'text') + '">'; } });
      customElements.define('x-button', class extends HTMLElement { connectedCallback() { this.attachShadow({mode:'open'}).innerHTML = '<button><slot></slot></button>'; } });</script>`,
    fields: ['identifier: Employee ID', 'password: Password'],
  },
  {
    name: 'a frame of the same site',
    html: `<h1>Welcome</h1><iframe width="400" height="300" srcdoc='${login}'></iframe>`,
    fields: ['identifier: Email', 'password: Password'],
  },
  {
    name: 'a frame of another site',
    html: `<h1>Welcome</h1><p>Our partner asks you to log in.</p><iframe width="400" height="300" src="{{other}}"></iframe>`,
    frame: login,
    fields: ['identifier: Email', 'password: Password'],
  },
  {
    name: 'search, newsletter and sign-up beside the login',
    html: `<header><form role="search"><input name="q" placeholder="Search"><button>Search</button></form></header>
      <main><section><h2>New here?</h2><form id="reg"><input placeholder="Name"><input type="email" placeholder="Email"><input type="password" placeholder="Password"><input type="password" placeholder="Repeat password"><button>Create account</button></form></section>
      <section><h2>Welcome back</h2><form><input type="email" placeholder="Your email"><input type="password" placeholder="Your password"><button>Log in</button></form></section></main>
      <footer><form><input type="email" placeholder="Your email"><button>Subscribe</button></form></footer>`,
    fields: ['identifier: Your email', 'password: Your password'],
  },
  {
    name: 'a sign-up with one password beside the login',
    html: `<div><h2>Join us</h2><form action="/register"><label>Email <input name="e"></label><label>Password <input type="password" autocomplete="new-password"></label><button>Register</button></form></div>
      <div><h2>Sign in</h2><form action="/session"><label>Login name <input name="e"></label><label>Password <input type="password"></label><button>Sign in</button></form></div>`,
    fields: ['identifier: Login name', 'password: Password'],
  },
  {
    name: 'honeypots',
    html: `<form><div style="position:absolute;left:-9999px"><label>Website <input name="website"></label></div><input name="url" style="display:none"><input name="email2" style="opacity:0;position:absolute">
      <div style="height:0;overflow:hidden"><label>Email <input name="hp" type="email"></label></div><div aria-hidden="true"><input tabindex="-1" name="trap" placeholder="Email"></div><label>Leave this field blank <input name="blank"></label>
      <label>Username <input name="user"></label><label>Password <input type="password" name="pw"></label><button>Login</button></form>`,
    fields: ['identifier: Username', 'password: Password'],
  },
  {
    name: 'no form, with buttons of other elements',
    html: `<div class="top"><div><input placeholder="Search products"></div></div><div class="card"><div><span>E-mail</span><div><input></div></div><div><span>Password</span><div><input type="password"><span style="cursor:pointer">Show</span></div></div>
      <div style="cursor:pointer;background:#00f;color:#fff">Log in</div></div><div class="news"><input placeholder="Get our newsletter: your e-mail"><div style="cursor:pointer">Subscribe</div></div>`,
    fields: ['identifier: E-mail', 'password: Password'],
  },
  {
    name: 'fields that come late',
    html: `<div id="app"><p>Loading…</p></div><script>setTimeout(() => { app.innerHTML = \`${login}\` }, 1200)</script>`,
    fields: ['identifier: Email', 'password: Password'],
  },
  {
    name: 'fields that are enabled late',
    html: `${login}<script>for (const e of document.querySelectorAll('input, button')) e.disabled = true; setTimeout(() => { for (const e of document.querySelectorAll('input, button')) e.disabled = false }, 1500)</script>`,
    fields: ['identifier: Email', 'password: Password'],
  },
  {
    name: 'a dialog over a page with another form',
    html: `<h1>Shop</h1><form><label>Coupon code <input name="c"></label><button>Apply</button></form><dialog open aria-modal="true"><h2>Sign in</h2><form method="dialog"><input name="email" placeholder="you@example.com" type="email"><input type="password" name="password"><button>Sign in</button></form></dialog>`,
    fields: ['identifier: you@example.com', 'password: Password'],
  },
  {
    name: 'the first of two steps, with the second one hidden',
    html: `<h1>Sign in</h1><form><label>Email or phone <input type="text" name="identifier"></label><div style="visibility:hidden"><input type="password" name="hiddenPassword" aria-hidden="true" tabindex="-1"></div><button>Next</button></form>`,
    fields: ['identifier: Email or phone'],
  },
  {
    name: 'editable elements as fields',
    html: `<div role="form" aria-label="Login"><div id="n">Login name</div><div role="textbox" contenteditable="true" aria-labelledby="n" style="border:1px solid;height:20px"></div><label>Password<input type="password"></label><div role="button" tabindex="0">Sign in</div></div>`,
    fields: ['identifier: Login name', 'password: Password'],
  },
];
