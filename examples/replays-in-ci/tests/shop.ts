/** A shop on one page. */
export const shop = `
  <h1>Basket</h1>
  <ul></ul>
  <button>Add a book for 12</button>
  <p role="status">Total: 0</p>
  <script>
    let total = 0;
    document.querySelector('button').addEventListener('click', () => {
      document.querySelector('ul').append(Object.assign(document.createElement('li'), { textContent: 'Book, 12' }));
      total ${process.env['BROKEN'] ? '' : '+'}= 12;
      document.querySelector('[role=status]').textContent = 'Total: ' + total;
    });
  </script>`;
