// Niceties alone: the page says everything without them. A button copies a command; a line follows the pointer
// over the pictures that have a time axis; a picture of a film is enlarged on the side where it is not.
(function () {
  'use strict';
  document.querySelectorAll('.command').forEach(function (line) {
    if (!navigator.clipboard) { return; }
    var button = document.createElement('button');
    button.type = 'button';
    button.textContent = 'copy';
    button.addEventListener('click', function () {
      navigator.clipboard.writeText(line.querySelector('code').textContent).then(function () {
        button.textContent = 'copied';
        setTimeout(function () { button.textContent = 'copy'; }, 1500);
      });
    });
    line.insertBefore(button, line.querySelector('code'));
  });
  document.querySelectorAll('figure > svg').forEach(function (svg) {
    var line = null;
    svg.addEventListener('pointermove', function (event) {
      if (line === null) {
        line = svg.appendChild(document.createElementNS(svg.namespaceURI, 'line'));
        line.setAttribute('class', 'cursor');
        line.setAttribute('y1', '0');
        line.setAttribute('y2', '100%');
      }
      var x = event.clientX - svg.getBoundingClientRect().left;
      line.setAttribute('x1', x);
      line.setAttribute('x2', x);
    });
    svg.addEventListener('pointerleave', function () {
      if (line !== null) { line.remove(); line = null; }
    });
  });
  document.querySelectorAll('.strips').forEach(function (strips) {
    ['pointerover', 'focusin'].forEach(function (type) {
      strips.addEventListener(type, function (event) {
        var cell = event.target.closest('td');
        if (cell === null) { return; }
        var box = cell.getBoundingClientRect();
        cell.classList.toggle('right', 2 * box.left + box.width > window.innerWidth);
      });
    });
  });
}());
