import{B as e,C as t,E as n,F as r,L as i,M as a,N as o,P as s,R as c,V as l,_ as u,b as d,c as f,d as p,j as m,k as h,l as g,m as _,n as v,r as y,u as b,y as x}from"./words.js";import{S,T as C,d as w,i as T,m as E,p as D,s as O}from"./index.js";var k=t(`fragment Seen on Event { event at who why }`),ee=t(`
  query Named(
    $servers: [Address!]!, $chips: [Address!]!, $switches: [Address!]!, $nics: [Address!]!
    $nodes: [Address!]!, $links: [Address!]!
  ) {
    events(last: 1) { nodes { event } }
    servers(filter: { address: { in: $servers } }, first: 400) {
      nodes { kind: __typename address state factor lastChange { ...Seen } chips(first: 64) { nodes { address state job } } }
    }
    chips(filter: { address: { in: $chips } }, first: 1000) {
      nodes { kind: __typename address state factor job lastChange { ...Seen } }
    }
    switches(filter: { address: { in: $switches } }, first: 1000) {
      nodes { kind: __typename address state factor lastChange { ...Seen } }
    }
    nics(filter: { address: { in: $nics } }, first: 1000) {
      nodes { kind: __typename address state factor lastChange { ...Seen } }
    }
    networkNodes(filter: { address: { in: $nodes } }, first: 1000) {
      nodes { kind: __typename address state factor lastChange { ...Seen } }
    }
    links(filter: { address: { in: $links } }, first: 1000) {
      nodes { kind: __typename address state factor lastChange { ...Seen } }
    }
  }
`,[k]),A=t(`
  mutation Set($input: SetStateInput!) {
    setState(input: $input) {
      changes {
        address before factorBefore after
        thing {
          ... on Server { state lastChange { event } }
          ... on Chip { state lastChange { event } }
          ... on Switch { state lastChange { event } }
          ... on Nic { state lastChange { event } }
          ... on NetworkNode { state lastChange { event } }
          ... on Link { state lastChange { event } }
        }
      }
    }
  }
`),j=t(`
  query Held($of: Address!) {
    chips(filter: { domain: { eq: $of }, state: { eq: UP } }) { totalCount }
    links(filter: { domain: { eq: $of }, scope: { in: [SERVER, RACK, DOMAIN] } }, first: 1000) {
      nodes { address bandwidth { gigabytesPerSecond } }
    }
  }
`),M=t(`
  query HalvesIf($of: Address!, $down: [Address!]!, $derate: [Derating!]!) {
    whatIf(down: $down, derate: $derate) {
      bisection(of: $of) {
        exact sideA sideB
        upper { gigabytesPerSecond }
        baseline { exact sideA sideB upper { gigabytesPerSecond } }
      }
    }
  }
`),N=t(`
  query FlowIf($from: Address!, $to: Address!, $down: [Address!]!, $derate: [Derating!]!) {
    whatIf(down: $down, derate: $derate) {
      bandwidth(from: $from, to: $to) {
        maximumFlow { gigabytesPerSecond }
        baseline { maximumFlow { gigabytesPerSecond } }
      }
    }
  }
`),P=t(`
  query Brought($of: Address!) {
    incidents(scope: $of, first: 1) {
      nodes {
        id causes causeCount
        impact {
          domains {
            domain chipsBefore chipsNow
            bisectionBefore { upper { gigabytesPerSecond } exact }
            bisectionNow { upper { gigabytesPerSecond } exact }
          }
        }
      }
    }
  }
`);function te(e){let[t,n,r,i]=[/\/s\d+$/,/\/c\d+$/,/\/sw\d+$/,/\/efa\d+$/].map(t=>e.filter(e=>!e.includes(`--`)&&t.test(e))),a=e.filter(e=>e.includes(`--`)),o=new Set([t,n,r,i,a].flat());return{servers:t,chips:n,switches:r,nics:i,nodes:e.filter(e=>!o.has(e)),links:a}}var ne=e=>[...e.servers.nodes,...e.chips.nodes,...e.switches.nodes,...e.nics.nodes,...e.networkNodes.nodes,...e.links.nodes],F={Nic:`NIC`,NetworkNode:`network node`};function I(e){let t=new Map;for(let{kind:n}of e)t.set(n,(t.get(n)??0)+1);return[...t].map(([e,t])=>y(t,F[e]??e.toLowerCase())).join(`, `)}var L=(e,t)=>`Set ${I(e)} ${S(t)}`;function R(e){let t=e.flatMap(e=>`chips`in e?e.chips.nodes:`job`in e?[e]:[]);return new Map(t.map(e=>[e.address,e]))}var z=({lastChange:e})=>e?.event??0;function B(e,t){for(let n of t)e.has(n.address)||e.set(n.address,{state:n.state,event:z(n)})}var V=(e,t)=>t.filter(t=>e.get(t.address)?.event!==z(t)),H=[`up`,`degraded`];function U(e,t,n){let r=!H.includes(t),i=e.filter(({state:e})=>H.includes(e));if(r)return{down:i.map(({address:e})=>e),derate:[]};let a=e=>n/(e.factor??1);return i.length===e.length&&t===`degraded`&&e.every(e=>a(e)<=1)?{down:[],derate:e.filter(e=>a(e)<1).map(e=>({address:e.address,factor:a(e)}))}:null}function W(e){let t=new Map;for(let n of e){let e=`${+!!/\/s\d+$/.test(n.address)} ${n.before} ${n.factorBefore}`;t.set(e,[...t.get(e)??[],n])}return[...t].sort(([e],[t])=>e<t?-1:1).map(([,e])=>e)}var G=2;function K({things:e,to:t,factor:n,route:r}){let{reached:i}=m(),a=U(e,t,n),o=t=>e.filter(({address:e})=>T(e)===t),s=[...new Set(e.map(({address:e})=>T(e)))].filter(Boolean),c=a&&!a.down.length&&!a.derate.length;return p(`section`,{class:`would`,"aria-label":`What it would change`,children:[p(`h3`,{children:[`What it would change `,p(`span`,{class:`quiet`,children:[`as of `,E(i),` UTC`]})]}),c&&p(`p`,{class:`quiet`,children:`Nothing: what carries anything now goes on as it does.`}),a&&!c&&s.slice(0,G).map(e=>p(re,{domain:e,supposed:a,things:o(e),to:t,route:r},e)),a&&!c&&s.length>G&&p(`p`,{class:`quiet`,children:[`and `,y(s.length-G,`more domain`)]}),a&&!s.length&&!c&&p(`p`,{class:`quiet`,children:`No scale-up domain holds it: no NeuronLink changes.`}),!a&&p(ie,{things:e,to:t}),p(ae,{things:e,to:t})]})}function q({name:e,before:t,now:n,unit:r=``,isBad:i=!1,note:a=!1}){let o=n-t,s=o<0?`−`:`+`,c=r?`${f(Math.round(Math.abs(1e3*o/t))/10)} %`:f(Math.abs(o));return p(`div`,{children:[p(`dt`,{children:e}),p(`dd`,{children:[p(C,{now:`${f(n)}${r}`,before:f(t)+(o?``:r)}),p(`span`,{class:o<0!==i&&o&&!a?`less`:`quiet`,children:a||(o?`${s}${r&&!t?``:c}`:`no change`)})]})]})}function J({of:e,children:t}){return e.error?p(`p`,{class:`failure`,children:e.error.message}):e.data===void 0?e.loading?p(`p`,{class:`quiet`,children:`Computing…`}):null:p(`dl`,{class:e.loading?`figures stale`:`figures`,"aria-busy":e.loading,children:t(e.data)})}function re({domain:t,supposed:r,things:i,to:a,route:o}){let{from:s,to:c}=o.view===`domain`&&o.of===t?o.options:{},l=s&&c?{from:b(t,s),to:b(t,c)}:null,u=n(d(j,{of:t})),f=n(d(M,{of:t,...r})),m=n(l&&d(N,{...l,...r})),h=R(i),g=[...h.values()].filter(({state:e})=>e===`up`).length,_=new Set(r.down.length?[...r.down,...h.keys()]:[]),y=e=>_.has(e)||r.down.some(t=>e.startsWith(`${t}/`));return p(e,{children:[p(J,{of:u,children:({chips:{totalCount:n},links:r})=>{let i=r.nodes.filter(({bandwidth:e})=>!e.gigabytesPerSecond).length,o=r.nodes.filter(({address:e,bandwidth:t})=>!t.gigabytesPerSecond||_.has(e)||e.split(`--`).some(y)).length;return p(e,{children:[p(q,{name:`Chips up in ${t}`,before:n,now:n-g}),a!==`degraded`&&p(q,{name:`Links that carry nothing`,before:i,now:o,isBad:!0})]})}}),p(J,{of:f,children:({whatIf:{bisection:e}})=>{let{baseline:t}=e;if(!t)return null;let[n,r]=[t.upper.gigabytesPerSecond,e.upper.gigabytesPerSecond],i=`not comparable: ${t.sideA+t.sideB} → ${e.sideA+e.sideB} chips`;return p(q,{name:e.exact&&t.exact?`Bisection`:`Bisection, at most`,before:n,now:r,unit:` GB/s`,note:r>n&&i})}}),l&&p(J,{of:m,children:({whatIf:{bandwidth:e}})=>p(q,{name:`Maximum flow ${v(t,l.from)} to ${v(t,l.to)}`,before:e.baseline?.maximumFlow.gigabytesPerSecond??0,now:e.maximumFlow.gigabytesPerSecond,unit:` GB/s`})})]})}function ie({things:t,to:r}){let i=t.find(({state:e})=>e!==`up`)?.address,a=n(r===`up`&&i?d(P,{of:i}):null),o=new Set(t.map(({address:e})=>e));return r!==`up`||!i?p(`p`,{class:`quiet`,children:`It carries more than now: how much shows when it is set.`}):p(J,{of:a,children:({incidents:{nodes:t}})=>{let n=t[0];return n?n.causeCount>n.causes.length||!n.causes.every(e=>o.has(e))?p(`p`,{class:`quiet`,children:[`It belongs to incident `,n.id,`, which has `,y(n.causeCount,`cause`),`: what the others took stays away.`]}):n.impact.domains.map(t=>p(e,{children:[p(q,{name:`Chips that carry in ${t.domain}`,before:t.chipsNow,now:t.chipsBefore},`${t.domain} chips`),p(q,{name:t.bisectionBefore.exact&&t.bisectionNow.exact?`Bisection`:`Bisection, at most`,before:t.bisectionNow.upper.gigabytesPerSecond,now:t.bisectionBefore.upper.gigabytesPerSecond,unit:` GB/s`},`${t.domain} bisection`)]})):p(`p`,{class:`quiet`,children:`It is no part of an incident.`})}})}function ae({things:e,to:t}){let n=new Map;for(let{address:t,job:r}of R(e).values())r&&n.set(r,[...n.get(r)??[],t]);return t===`up`?null:p(`ul`,{class:`plain`,children:[...n].map(([e,t])=>p(`li`,{children:[p(w,{state:`degraded`}),` job `,e,` runs on `,y(t.length,`chip`),` of it`,p(`a`,{href:_(`jobs`,``,{in:T(t[0]??``),fit:`chips:${t.length}`}),target:`_blank`,rel:`noopener`,children:`Where else it fits`})]},e))})}var oe=6e3,Y=e=>Math.max(0,...e.map(({thing:e})=>`lastChange`in e?e.lastChange?.event??0:0)),X;function Z(){return X||(X=document.body.appendChild(document.createElement(`div`)),X.className=`toasts made`,X.setAttribute(`role`,`status`),X)}function se(e){let t=Z();l(p(le,{done:e,close:()=>l(null,t)},Y(e.changes)),t)}async function ce({changes:e,why:t,who:n}){let r=Y(e);for(let i of W(e)){let e={addresses:i.map(({address:e})=>e),state:i[0]?.before.toUpperCase(),factor:i[0]?.factorBefore??null,why:`undone: ${t}`.slice(0,1e3),who:n,unchangedSince:r},{setState:a}=await x({...d(A,{input:e}),at:``});o(Y(a.changes))}}function le({done:e,close:t}){let{asof:n}=a(),[r,i]=c(!1),[o,l]=c(``);s(()=>{if(r)return;let e=setTimeout(t,oe);return()=>clearTimeout(e)},[r,o]);let u=()=>{l(`Undoing…`),i(!0),ce(e).then(()=>{l(`Undone: all is as it was`),i(!1)},e=>l(`Not undone: ${e.message}`))},d=e.changes.length>0&&!o&&!n;return s(()=>{if(!d)return;let e=e=>{!e.target.closest(`input, select, textarea, [contenteditable], dialog`)&&e.key===`z`&&(e.ctrlKey||e.metaKey)&&(e.preventDefault(),u())};return addEventListener(`keydown`,e),()=>removeEventListener(`keydown`,e)},[d]),p(`p`,{class:`toast`,onPointerEnter:()=>i(!0),onPointerLeave:()=>i(!1),onFocusIn:()=>i(!0),onFocusOut:()=>i(!1),children:[o||e.says,d&&p(`button`,{type:`button`,"data-writes":!0,"aria-keyshortcuts":`Control+Z`,onClick:u,children:[`Undo `,p(`kbd`,{children:`Ctrl Z`})]}),o.startsWith(`Not`)&&p(`button`,{type:`button`,onClick:t,children:`Close`})]})}var Q=`trninv who`,ue=[`up`,`degraded`,`down`,`maintenance`],$=1e3;function de(e){if(!e.places.length||document.querySelector(`dialog.change`))return;Z();let t=document.body.appendChild(document.createElement(`div`));l(p(fe,{change:e,close:()=>{l(null,t),t.remove()}}),t)}function fe({change:e,close:t}){let a=i(null),s=i(new Map),l=u(),m=O(),[g,_]=c(()=>[...new Set(e.places)]),[v,y]=c(e.state),[b,S]=c(String(e.factor??.5)),[C,w]=c(``),[T,E]=c(!1),k=n(d(ee,te(g))),j=k.data?ne(k.data):[];B(s.current,j);let M=V(s.current,j),N=R(j).size,P=Number(b),F=!k.loading&&j.length>0&&j.length<g.length;return r(()=>{a.current?.showModal(),a.current?.querySelector(`[name=why]`)?.focus()},[]),p(`dialog`,{class:`change`,ref:a,"aria-labelledby":`change`,onClose:t,children:p(`form`,{onSubmit:async e=>{e.preventDefault();let t=new FormData(e.target),n=String(t.get(`why`)),r=m?.name?null:String(t.get(`who`));r&&localStorage.setItem(Q,r),E(!0),w(``);let i={addresses:j.map(({address:e})=>e),state:v.toUpperCase(),factor:v===`degraded`?P:null,why:n,who:r,unchangedSince:k.data?.events.nodes[0]?.event??0};try{let{setState:e}=await x({...d(A,{input:i}),at:``});a.current?.close(),o(Y(e.changes)),se({says:pe(j,e.changes,v),why:n,who:r,changes:e.changes})}catch(e){let{code:t,message:n}=e;w(n),t===`CONFLICT`&&h(),E(!1)}},children:[p(`header`,{children:[p(`h2`,{id:`change`,children:`Set a state`}),p(`button`,{type:`button`,class:`square`,"aria-label":`Close`,onClick:()=>a.current?.close(),children:p(`span`,{"aria-hidden":`true`,children:`×`})})]}),p(`div`,{class:`body`,children:[p(me,{things:k.error?g.map(e=>({address:e})):j,places:g,set:_}),F&&p(`p`,{class:`failure`,role:`alert`,children:[f(g.length),` addresses, of which `,f(j.length),` are listed: set fewer at once.`]}),k.error&&p(`p`,{class:`failure`,role:`alert`,children:k.error.message}),p(`fieldset`,{class:`to`,children:[p(`legend`,{children:`To`}),ue.map(e=>p(`label`,{class:e,children:[p(`input`,{type:`radio`,name:`to`,value:e,checked:e===v,onChange:()=>y(e)}),p(D,{state:e,children:e})]},e))]}),v===`degraded`&&p(`label`,{children:[`Part that it still carries`,p(`input`,{type:`number`,name:`factor`,required:!0,min:`0.000001`,max:`0.999999`,step:`any`,value:b,onInput:e=>S(e.currentTarget.value)})]}),p(`label`,{children:[`Why, kept with the change`,p(`input`,{name:`why`,required:!0,maxLength:$,pattern:`.*\\S.*`,title:`A reason`,autocomplete:`off`})]}),m&&!m.name&&p(`label`,{children:[`Who you are, kept with the change`,p(`input`,{name:`who`,required:!0,maxLength:$,pattern:`.*\\S.*`,title:`A name`,autocomplete:`username`,defaultValue:localStorage.getItem(Q)??``})]}),j.length>0&&(v!==`degraded`||P>0&&P<1)&&p(K,{things:j,to:v,factor:P,route:l}),N>16&&p(`label`,{children:[`This is about `,f(N),` chips: type their number`,p(`input`,{name:`count`,required:!0,inputMode:`numeric`,autocomplete:`off`,pattern:String(N),title:String(N)})]}),M.length>0&&p(he,{things:M,seen:s.current}),C&&!M.length&&p(`p`,{class:`failure`,role:`alert`,children:C})]}),p(`footer`,{children:[p(`span`,{class:`quiet`,children:[m?.name?`As ${m.name} · `:``,`every answer heeds it at once`]}),p(`button`,{type:`button`,onClick:()=>a.current?.close(),children:`Cancel`}),p(`button`,{type:`submit`,"data-writes":!0,class:v===`up`?`main`:`main ${v}`,disabled:T||!m||k.loading||!j.length||F,children:[L(j,v),M.length>0&&` all the same`]})]})]})})}function pe(e,t,n){if(!t.length)return`Nothing changed: ${I(e)} had been ${S(n)} already`;let r=t.filter(({after:e,thing:t})=>`state`in t&&t.state!==e).length,i=r?`; ${f(r)} not ${S(n)} before the server is`:``;return`${L(e,n).replace(`Set `,``)}${i}`}function me({things:e,places:t,set:n}){let[r,i]=c(!1),a=e=>{let r=e.value.trim().toLowerCase();r&&n([...new Set([...t,r])]),i(!1)};return p(`div`,{class:`what`,children:[p(`h3`,{children:`What`}),p(`ul`,{children:[e.slice(0,8).map(({address:e,state:r})=>p(`li`,{children:[p(`strong`,{children:g(e)}),` `,r&&p(D,{state:r}),t.length>1&&p(`button`,{type:`button`,class:`plain`,"aria-label":`Leave ${e} out`,onClick:()=>n(t.filter(t=>t!==e)),children:`×`})]},e)),e.length>8&&p(`li`,{class:`quiet`,children:[`and `,f(e.length-8),` more`]}),p(`li`,{children:r?p(`input`,{"aria-label":`Another address`,ref:e=>e?.focus(),spellcheck:!1,autocomplete:`off`,onKeyDown:e=>{(e.key===`Enter`||e.key===`Escape`)&&(e.preventDefault(),e.key===`Escape`&&(e.currentTarget.value=``),a(e.currentTarget))},onBlur:e=>a(e.currentTarget)}):p(`button`,{type:`button`,class:`plain`,onClick:()=>i(!0),children:`+ Add`})})]})]})}function he({things:e,seen:t}){return p(`div`,{class:`conflict`,role:`alert`,children:[p(`strong`,{children:`Changed since you opened this`}),p(`ul`,{class:`plain`,children:e.map(({address:e,state:n,lastChange:r})=>p(`li`,{children:[p(w,{state:n}),` `,g(e),` was `,t.get(e)?.state,`, is `,S(n),` now`,r&&`, ${E(r.at)} UTC, ${r.who}: ${r.why}`]},e))})]})}export{de as open};