// Niceties alone: the page says everything without them. A button copies a command; a line follows the pointer
// over the pictures that have a time axis and tells the time; pictures of fetches can be widened and filtered; a link to
// what is folded unfolds it, and printing unfolds all; a picture of a film is enlarged on the side where it is not.
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
  function unfold(element) {
    for (var at = element; at !== null; at = at.parentElement) {
      if (at.tagName === 'DETAILS') { at.open = true; }
    }
  }
  function follow() {
    var target = location.hash.length > 1 ? document.getElementById(location.hash.slice(1)) : null;
    if (target === null) { return; }
    var own = target.querySelector(':scope > details');
    unfold(own === null ? target : own);
    target.scrollIntoView();
  }
  window.addEventListener('hashchange', follow);
  document.querySelectorAll('nav a').forEach(function (link) {
    link.addEventListener('click', function () { setTimeout(follow); });
  });
  window.addEventListener('beforeprint', function () { document.querySelectorAll('details').forEach(unfold); });
  follow();

  function duration(ms) {
    if (ms >= 1000) { return (ms / 1000).toFixed(2) + ' s'; }
    return (ms >= 100 ? ms.toFixed(0) : ms >= 10 ? ms.toFixed(1) : ms.toFixed(2)) + ' ms';
  }
  document.querySelectorAll('figure > svg').forEach(function (svg) {
    var line = null, text = null;
    function add(tag, name) {
      var made = svg.appendChild(document.createElementNS(svg.namespaceURI, tag));
      made.setAttribute('class', name);
      return made;
    }
    svg.addEventListener('pointermove', function (event) {
      if (line === null) {
        line = add('line', 'cursor');
        line.setAttribute('y1', '0');
        line.setAttribute('y2', '100%');
        text = add('text', 'tag');
        text.setAttribute('y', '10');
      }
      var x = event.clientX - svg.getBoundingClientRect().left;
      line.setAttribute('x1', x);
      line.setAttribute('x2', x);
      var pane = svg.querySelector('[data-pane]');
      if (pane === null) { return; }
      var plot = pane.querySelector('[data-plot]'), own = svg.getBoundingClientRect();
      var left = own.width * parseFloat(pane.getAttribute('x')) / 100, width = own.width - left;
      var zoom = parseFloat(plot.getAttribute('width')) / 100, shift = parseFloat(plot.getAttribute('x')) / 100;
      var share = ((x - left) / width - shift) / zoom;
      text.textContent = 0 > share ? '' : duration(share * parseFloat(pane.dataset.pane));
      text.setAttribute('x', x > own.width - 70 ? x - 6 : x + 6);
      text.setAttribute('text-anchor', x > own.width - 70 ? 'end' : 'start');
    });
    svg.addEventListener('pointerleave', function () {
      if (line !== null) { line.remove(); text.remove(); line = null; }
    });
  });
  document.querySelectorAll('figure').forEach(function (figure) {
    var plots = figure.querySelectorAll(':scope > svg [data-plot]');
    if (plots.length === 0) { return; }
    var zoom = 1, from = 0, lens = document.createElement('div');
    lens.className = 'lens';
    function show() {
      from = Math.min(Math.max(from, 0), 1 - 1 / zoom);
      plots.forEach(function (plot) {
        plot.setAttribute('width', 100 * zoom + '%');
        plot.setAttribute('x', -100 * zoom * from + '%');
      });
    }
    function button(name, about, act) {
      var made = lens.appendChild(document.createElement('button'));
      made.type = 'button';
      made.textContent = name;
      made.title = about;
      made.setAttribute('aria-label', about);
      made.addEventListener('click', function () { act(); show(); });
    }
    button('+', 'closer', function () { from += 0.25 / zoom; zoom = Math.min(zoom * 2, 64); });
    button('−', 'farther', function () { zoom = Math.max(zoom / 2, 1); });
    button('←', 'earlier', function () { from -= 0.5 / zoom; });
    button('→', 'later', function () { from += 0.5 / zoom; });
    var names = figure.querySelectorAll(':scope > svg text.tag tspan');
    var bars = figure.querySelectorAll('[data-plot] > g > title');
    if (names.length > 0) {
      var input = lens.appendChild(document.createElement('input'));
      input.type = 'search';
      input.placeholder = 'filter by URL';
      input.setAttribute('aria-label', 'filter by URL');
      input.addEventListener('input', function () {
        var wanted = input.value.toLowerCase();
        bars.forEach(function (title) {
          title.parentNode.classList.toggle('faint', !title.textContent.toLowerCase().includes(wanted));
        });
        names.forEach(function (name) {
          var whole = name.parentNode.textContent.toLowerCase();
          name.parentNode.classList.toggle('faint', !whole.includes(wanted));
        });
      });
    }
    figure.insertBefore(lens, figure.querySelector(':scope > svg'));
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
