<p>Articles with <i><?= $e($words) ?></i>, the best first</p>
<ol>
<?php foreach ($hits as $hit): ?>
<li><a href="/articles/<?= $hit['article']->id ?>"><?= $e($hit['article']->title) ?></a> (<?= $hit['rank'] ?>)
  <?= $e(wordwrap(strip_tags(Markup::html(substr($hit['article']->text, 0, 400))), 60)) ?></li>
<?php endforeach ?>
</ol>
